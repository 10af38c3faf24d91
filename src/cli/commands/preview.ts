import type { Argv } from 'yargs';
import { amount, amountOf, LeadstreamError, textOf, unknownName, type Column, type Row } from '../../core/index.js';
import type { Pipeline, Preview, PreviewStage } from '../../index.js';
import { listed, loadOne, pipelineOptions, type PipelineArguments } from '../pipeline-options.js';
import { repeated, type CommandContext, type Runner } from '../context.js';
import { printRows } from '../rows.js';
import { print } from '../streams.js';

interface PreviewArguments extends PipelineArguments {
  readonly file: string;
  readonly rows: number;
  readonly step: number | undefined;
  readonly columns: readonly string[];
  readonly sample: number;
  readonly reveal: boolean;
  readonly only: string | undefined;
}

/** Adds `leadstream preview`. */
export function addPreview(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'preview <file>',
    'Show the first rows after every step, and write nothing',
    (options) =>
      pipelineOptions(options)
        .positional('file', { type: 'string', demandOption: true, describe: 'Pipeline file (YAML)' })
        .option('rows', { alias: 'n', type: 'number', default: 10, describe: 'Rows to show after each step' })
        .option('step', { type: 'number', describe: 'Only the rows after this step, counted from 0, with all columns' })
        .option('columns', { ...repeated, describe: 'Columns to show, like lead_id,email' })
        .option('sample', { type: 'number', default: 1000, describe: 'Most rows of the collection to read' })
        .option('reveal', { type: 'boolean', default: false, describe: 'Show personal values and credentials instead of ***' })
        .option('only', { type: 'string', describe: 'Name of the pipeline, if the file has several' })
        .check(({ rows }) => isCount(rows) || '--rows takes a whole number of at least 1')
        .check(({ rows, sample }) => (isCount(sample) && sample >= rows) || '--sample takes a whole number, not less than --rows')
        .example('$0 preview leads.yaml -n 5', 'the first five rows after every step')
        .example('$0 preview leads.yaml --step 2', 'all columns after steps[2]')
        .example('$0 preview leads.yaml --columns lead_id,zip_city', 'these columns after every step'),
    (arguments_) => runner(arguments_, (context) => preview(arguments_, context)),
  );
}

function isCount(count: number): boolean {
  return Number.isInteger(count) && count >= 1;
}

async function preview(arguments_: PreviewArguments, context: CommandContext): Promise<number> {
  const { previewPipeline } = await import('../../index.js');
  const { watchers } = await import('../reporting.js');
  const { reportFailure } = await import('../failure.js');
  const { console, signal } = context;
  const { rows, sample, step } = arguments_;
  const pipeline = await loadOne(arguments_, context);
  refuseStep(step, pipeline);
  const wanted = listed(arguments_.columns);
  const shown = { rows, sample, ...(step !== undefined && { step }), signal, watch: watchers(console) };
  const found = await previewPipeline(pipeline, shown);
  const stages = step === undefined ? found.stages : found.stages.slice(-1);
  refuseUnknown(wanted, stages);
  for (const stage of stages)
    await printStage(stage, before(stage, found), found.failure !== undefined, { ...arguments_, wanted }, pipeline, context);
  if (found.failure !== undefined) return reportFailure(console, found.failure);
  const { name } = pipeline.plan.collection;
  const read = found.whole
    ? `all ${amountOf(found.read, 'row')} of ${name}`
    : `the first ${amountOf(found.read, 'row')} of ${name} (--sample: more)`;
  console.log('info', `read ${read}; nothing was written`);
  return 0;
}

function refuseStep(step: number | undefined, { plan: { steps } }: Pipeline): void {
  if (step === undefined || (Number.isInteger(step) && step >= 0 && step < steps.length)) return;
  const names = steps.map(({ name }, index) => `${index} ${name}`).join(', ');
  throw new LeadstreamError('E_USAGE', steps.length === 0 ? '--step: the pipeline has no steps' : `--step: there are ${names}`);
}

/** Refuses a column that no stage has. It may be missing at some of them. */
function refuseUnknown(wanted: readonly string[], stages: readonly PreviewStage[]): void {
  const known = [...new Set(stages.flatMap(({ columns }) => columns.map(({ name }) => name)))];
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new LeadstreamError('E_USAGE', `--columns: ${unknownName('column', unknown, known)}`);
}

function before(stage: PreviewStage, { stages }: Preview): PreviewStage | undefined {
  return stages[stages.indexOf(stage) - 1];
}

type Shown = PreviewArguments & { readonly wanted: readonly string[] };

async function printStage(
  stage: PreviewStage,
  earlier: PreviewStage | undefined,
  isCut: boolean,
  { wanted, reveal, step }: Shown,
  { plan: { collection } }: Pipeline,
  { stdout }: CommandContext,
): Promise<void> {
  const names = (columns: readonly Column[]) => columns.map(({ name }) => name);
  const added = earlier ? stage.columns.filter(({ name }) => !names(earlier.columns).includes(name)) : [];
  const gone = earlier ? names(earlier.columns).filter((name) => !names(stage.columns).includes(name)) : [];
  const width = Math.max(20, stdout.columns ?? 100);
  // Only rows show what a step does to the columns.
  const title = isCut && stage.passed === 0 ? `${stage.at}: no rows came out of it before the failure` : titleOf(stage, names(added), gone);
  const note = noteOf(stage, step !== undefined);
  await print(stdout, `${earlier === undefined || step !== undefined ? '' : '\n'}${title}\n${note}`);
  if (stage.rows.length === 0) return;
  const shown = reveal ? stage : masked(stage.columns, stage.rows);
  const isFirst = ({ name }: Column) => collection.key.includes(name) || names(added).includes(name);
  const chosen =
    wanted.length > 0
      ? wanted.flatMap((name) => shown.columns.find((column) => column.name === name) ?? [])
      : step === undefined
        ? fitting([...shown.columns.filter(isFirst), ...shown.columns.filter((column) => !isFirst(column))], shown.rows, width)
        : shown.columns;
  if (chosen.length > 0) await printRows(stdout, chosen, shown.rows, width);
  const more = shown.columns.length - chosen.length;
  const index = /^steps\[(\d+)\]/.exec(stage.at)?.[1];
  if (more > 0 && wanted.length === 0)
    await print(
      stdout,
      `(${amountOf(more, 'more column')}: ${index === undefined ? '--columns chooses' : `--step ${index} shows them`})\n`,
    );
}

function titleOf({ at, rows, passed, columns }: PreviewStage, added: readonly string[], gone: readonly string[]): string {
  const few = rows.length < passed ? `first ${amount(rows.length)} of ${amountOf(passed, 'row')}` : amountOf(passed, 'row');
  const count = passed === 0 ? 'no row of the sample reaches this step' : `${few}, ${amountOf(columns.length, 'column')}`;
  const changes = [...added.map((name) => `+${name}`), ...gone.map((name) => `-${name}`)].join(' ');
  return `${at}: ${count}${changes === '' ? '' : `, ${changes}`}`;
}

/** @param alone Whether no earlier stage is shown, which would have mentioned the sample. */
function noteOf({ at, sampledBy }: PreviewStage, alone: boolean): string {
  return sampledBy !== undefined && (alone || sampledBy === at) ? `(a sample: ${sampledBy} has not seen the whole collection)\n` : '';
}

/** Shown in place of a personal value or a credential. */
const hidden = '***';

/** Masks personal values and credentials in rows and columns. Empty values are shown as empty. */
function masked(columns: readonly Column[], rows: readonly Row[]): { readonly columns: readonly Column[]; readonly rows: readonly Row[] } {
  const hiding = columns.filter(({ sensitivity }) => sensitivity !== 'plain').map(({ name }) => name);
  const values = (row: Row): Row => {
    const entries = hiding.map((name): [string, string | null] => [name, (row[name] ?? '') === '' ? null : hidden]);
    return { ...row, ...Object.fromEntries(entries) };
  };
  return {
    columns: columns.map((column) => (hiding.includes(column.name) ? { ...column, type: 'text', cast: true } : column)),
    rows: rows.map(values),
  };
}

/** Most characters that are reserved for a column. */
const usual = 24;

/** Returns as many of the columns, in this order, as fit next to each other, and at least one. */
function fitting(columns: readonly Column[], rows: readonly Row[], room: number): readonly Column[] {
  let free = room;
  const count = columns.findIndex(({ name, type }) => {
    const texts = rows.map((row) => textOf(row[name] ?? null, type)?.length ?? 0);
    free -= Math.min(usual, Math.max(name.length, ...texts)) + 2;
    return free < -2;
  });
  return count < 0 ? columns : columns.slice(0, Math.max(1, count));
}
