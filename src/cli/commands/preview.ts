import { amount, amountOf, LeadstreamError, textOf, type Column, type Row } from '../../core/index.js';
import type { Pipeline, PreviewStage } from '../../index.js';
import {
  command,
  flag,
  listed,
  loadOne,
  onlyPipeline,
  pipelineFile,
  pipelineOptions,
  refuseUnknown,
  repeated,
  type ArgumentsOf,
  type Parser,
} from '../command.js';
import { print, printRows, type OutputStream } from '../console.js';

const isCount = (count: number) => Number.isInteger(count) && count >= 1;

const options = (yargs: Parser) =>
  pipelineOptions(yargs)
    .positional('file', pipelineFile)
    .option('rows', { alias: 'n', type: 'number', default: 10, describe: 'Rows to show after each step' })
    .option('step', { type: 'number', describe: 'Only the rows after this step, counted from 0, with all columns' })
    .option('columns', { ...repeated, describe: 'Columns to show, like lead_id,email' })
    .option('sample', { type: 'number', default: 1000, describe: 'Most rows of the collection to read' })
    .option('reveal', { ...flag, describe: 'Show personal values and credentials instead of ***' })
    .option('only', onlyPipeline)
    .check(({ rows }) => isCount(rows) || '--rows takes a whole number of at least 1')
    .check(({ rows, sample }) => (isCount(sample) && sample >= rows) || '--sample takes a whole number, not less than --rows')
    .example('$0 preview leads.yaml -n 5', 'the first five rows after every step')
    .example('$0 preview leads.yaml --step 2', 'all columns after steps[2]')
    .example('$0 preview leads.yaml --columns lead_id,zip_city', 'these columns after every step');

export const preview = command(
  'preview <file>',
  'Show the first rows after every step, and write nothing',
  options,
  async (arguments_, context) => {
    const { previewPipeline } = await import('../../index.js');
    const { watchers } = await import('../reporting.js');
    const { reportFailure } = await import('../failure.js');
    const { console, signal, stdout } = context;
    const { rows, sample, step } = arguments_;
    const pipeline = await loadOne(arguments_, context);
    refuseStep(step, pipeline);
    const shown = { rows, sample, ...(step !== undefined && { step }), signal, watch: watchers(console) };
    const { failure, read, whole, stages } = await previewPipeline(pipeline, shown);
    const chosen = step === undefined ? stages : stages.slice(-1);
    const known = new Set(chosen.flatMap(({ columns }) => columns.map(({ name }) => name)));
    // A column may be missing at some of the stages.
    refuseUnknown('--columns', 'column', listed(arguments_.columns), [...known]);
    for (const stage of chosen) {
      const earlier = stages[stages.indexOf(stage) - 1];
      await printStage(stage, earlier, { ...arguments_, isCut: failure !== undefined, key: pipeline.plan.collection.key }, stdout);
    }
    if (failure !== undefined) return reportFailure(console, failure);
    const what = `${amountOf(read, 'row')} of ${pipeline.plan.collection.name}`;
    console.log('info', `read ${whole ? `all ${what}` : `the first ${what} (--sample: more)`}; nothing was written`);
    return 0;
  },
);

function refuseStep(step: number | undefined, { plan: { steps } }: Pipeline): void {
  if (step === undefined || (Number.isInteger(step) && step >= 0 && step < steps.length)) return;
  const names = steps.map(({ definition: { name } }, index) => `${index} ${name}`).join(', ');
  throw new LeadstreamError('E_USAGE', steps.length === 0 ? '--step: the pipeline has no steps' : `--step: there are ${names}`);
}

/** What is to be shown; `isCut` when the read failed. */
type Shown = ArgumentsOf<typeof options> & { readonly isCut: boolean; readonly key: readonly string[] };

async function printStage(
  stage: PreviewStage,
  earlier: PreviewStage | undefined,
  { columns: words, reveal, step, isCut, key }: Shown,
  stdout: OutputStream,
): Promise<void> {
  const names = (columns: readonly Column[] = []) => columns.map(({ name }) => name);
  const [before, after] = [names(earlier?.columns), names(stage.columns)];
  const added = earlier ? after.filter((name) => !before.includes(name)) : [];
  const gone = before.filter((name) => !after.includes(name));
  const width = Math.max(20, stdout.columns ?? 100);
  const isAlone = step !== undefined;
  // Only rows show what a step does to the columns.
  const title = isCut && stage.passed === 0 ? `${stage.at}: no rows came out of it before the failure` : titleOf(stage, added, gone);
  await print(stdout, `${earlier === undefined || isAlone ? '' : '\n'}${title}\n${noteOf(stage, isAlone)}`);
  if (stage.rows.length === 0) return;
  const shown = reveal ? stage : masked(stage.columns, stage.rows);
  const isFirst = ({ name }: Column) => key.includes(name) || added.includes(name);
  const wanted = listed(words);
  const chosen =
    wanted.length > 0
      ? wanted.flatMap((name) => shown.columns.find((column) => column.name === name) ?? [])
      : isAlone
        ? shown.columns
        : fitting([...shown.columns.filter(isFirst), ...shown.columns.filter((column) => !isFirst(column))], shown.rows, width);
  if (chosen.length > 0) await printRows(stdout, chosen, shown.rows);
  const more = shown.columns.length - chosen.length;
  const index = /^steps\[(\d+)\]/.exec(stage.at)?.[1];
  const remedy = index === undefined ? '--columns chooses' : `--step ${index} shows them`;
  if (more > 0 && wanted.length === 0) await print(stdout, `(${amountOf(more, 'more column')}: ${remedy})\n`);
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
