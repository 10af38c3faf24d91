import type { Argv } from 'yargs';
import { amount, amountOf, LeadstreamError, printable } from '../../core/index.js';
import type { RowExplanation, RowField, RowJoin, RowOutput, RowPassage } from '../../index.js';
import { painterFor, type Painter, type Tone } from '../colour.js';
import { loadOne, pipelineOptions, type PipelineArguments } from '../pipeline-options.js';
import type { CommandContext, Runner } from '../context.js';
import { print } from '../streams.js';

interface ExplainRowArguments extends PipelineArguments {
  readonly file: string;
  readonly key: readonly string[];
  readonly format: 'text' | 'json';
  readonly scan: number;
  readonly reveal: boolean;
  readonly only: string | undefined;
  readonly stateDir: string;
}

/** Adds `leadstream explain-row`. */
export function addExplainRow(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'explain-row <file> <key..>',
    'Show what every step does to one record, and write nothing',
    (options) =>
      pipelineOptions(options)
        .positional('file', { type: 'string', demandOption: true, describe: 'Pipeline file (YAML)' })
        .positional('key', {
          type: 'string',
          array: true,
          demandOption: true,
          describe: 'Key of the record; if it has several columns, one value for each',
        })
        .option('format', { choices: ['text', 'json'] as const, default: 'text' as const, describe: 'Text for people, or JSON' })
        .option('scan', {
          type: 'number',
          default: 10_000,
          describe: 'Most rows of the list to search, if the record cannot be read by itself',
        })
        .option('reveal', { type: 'boolean', default: false, describe: 'Show personal values and credentials instead of ***' })
        .option('only', { type: 'string', describe: 'Name of the pipeline, if the file has several' })
        .option('state-dir', {
          type: 'string',
          default: '.leadstream',
          describe: 'State folder of the runs, whose log is checked for tables',
        })
        .check(({ scan }) => (Number.isInteger(scan) && scan >= 1) || '--scan takes a whole number of at least 1')
        .example('$0 explain-row leads.yaml 1000001', 'one lead')
        .example('$0 explain-row areas.yaml 212 "New York" NY', 'a key of three columns'),
    (arguments_) => runner(arguments_, (context) => explainRow(arguments_, context)),
  );
}

async function explainRow(arguments_: ExplainRowArguments, context: CommandContext): Promise<number> {
  const api = await import('../../index.js');
  const { watchers } = await import('../reporting.js');
  const { console, env, signal, stdout } = context;
  const { key, format, scan, reveal, stateDir } = arguments_;
  const pipeline = await loadOne(arguments_, context, { stateDir });
  const explanation = await api.explainRow(pipeline, key.map(String), { reveal, scan, stateDir, signal, watch: watchers(console) });
  const text = format === 'json' ? `${JSON.stringify(explanation, undefined, 2)}\n` : textOf(explanation, painterFor(stdout, env));
  await print(stdout, console.redact(text));
  const failed = [...explanation.steps, ...explanation.outputs].find(({ outcome }) => outcome === 'failed');
  if (failed) throw new LeadstreamError('E_ROW_FAILED', `${failed.at}: a run fails on this row`);
  const [refused] = explanation.gates;
  if (refused) throw new LeadstreamError('E_ROW_FAILED', `the gate ${refused.gate} refuses a run with this row`);
  return 0;
}

function textOf({ collection, search, record, steps, rows, outputs, gates }: RowExplanation, paint: Painter): string {
  const list = search.because === undefined ? 'found in the list' : `${search.because}; found in the list`;
  const how = search.by === 'single read' ? 'found by a single read' : `${list}, row ${amount(search.looked)}`;
  const end = rows === 0 ? [`nothing is written for it: ${endOf(steps)}`] : outputs.flatMap((output) => outputLines(output, paint));
  const refusals = gates.map(({ gate, message }) => `gate ${gate}: ${paint('bad', 'refused')}: ${message}`);
  const blocks = [
    [`from ${collection}: ${how}`, ...table(record)],
    ...steps.map((step) => stepLines(step, paint)),
    end,
    ...(refusals.length > 0 ? [refusals] : []),
  ];
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function endOf(steps: readonly RowPassage[]): string {
  const last = steps.find(({ outcome }) => outcome !== 'passed');
  return last ? `${last.at}, ${last.outcome}` : 'no row comes out of the last step';
}

const tones: Readonly<Record<RowPassage['outcome'] | RowOutput['outcome'], Tone>> = {
  written: 'good',
  nulled: 'beware',
  unchanged: 'beware',
  passed: 'good',
  dropped: 'beware',
  rejected: 'bad',
  failed: 'bad',
  'not reached': 'aside',
};

function stepLines(passage: RowPassage, paint: Painter): readonly string[] {
  const { at, outcome, reason, rejected, expressions, conditions, used, join, changed, removed, nulled, alone } = passage;
  if (outcome === 'not reached') return [`${at}: ${paint(tones[outcome], outcome)}`];
  const passed = outcome === 'passed';
  const why = passed || reason === undefined ? '' : `: ${printable(reason)}`;
  const changes = changed.map((field) => {
    const was = field.before === undefined ? '' : ` (was ${shown(field.before)})`;
    return `${field.before === undefined ? '+' : '~'} ${field.name} ${field.type} = ${shown(field.value)}${was}`;
  });
  return [
    `${at}: ${paint(tones[outcome], outcome)}${why}${leaving(passage)}`,
    ...[
      ...(passed && rejected > 0 ? [`${paint('bad', `${amountOf(rejected, 'row')} rejected`)}: ${reason}`] : []),
      ...expressions.map((expression) => `expression: ${printable(expression)}`),
      ...conditions.map(({ expression, value, problem }) => `  ${printable(expression)}: ${problem ?? value}`),
      ...used.map(({ name, value }) => `uses ${name} = ${shown(value)}`),
      ...(join ? joinLines(join) : []),
      ...changes,
      ...(removed.length > 0 ? [`- ${removed.join(', ')}`] : []),
      ...(nulled > 0 ? [`${amountOf(nulled, 'value')} did not fit and became null`] : []),
      ...(alone === undefined ? [] : [`note: ${alone}`]),
    ].map((line) => `  ${line}`),
  ];
}

/** Describes how many rows leave a step, unless it is one of one. */
function leaving({ arrived, rows }: RowPassage): string {
  if (rows === 0 || (rows === 1 && arrived === 1)) return '';
  const came = arrived > 1 && arrived !== rows ? ` of ${amount(arrived)}` : '';
  return `, ${amount(rows)}${came} rows ${rows === 1 ? 'leaves it:' : 'leave it; the first:'}`;
}

function joinLines(join: RowJoin): readonly string[] {
  const { row, with: other, lookup, key, normalize, looked, matches, pick, miss, missed } = join;
  const which = row > 1 ? `row ${amount(row)}: ` : '';
  const others = missed > 1 ? `; ${amountOf(missed, 'row')} have none` : '';
  const tried = key.map(({ left, right, value, compared, agreeing }) => {
    const normal = normalize === undefined ? '' : `, compared as ${shown(compared)}`;
    const found = lookup === 'by_id' ? '' : `: ${amountOf(agreeing, 'row')} of ${other} with that ${right}`;
    return `${which}key ${left} = ${shown(value)}${normal}${found}`;
  });
  const where =
    lookup === 'by_id' ? `${amountOf(looked, 'row')} that the service returned for it` : `${amountOf(looked, 'row')} of ${other}`;
  const several = matches > 1 ? `; pick: ${pick}` : '';
  return [
    ...tried,
    miss === undefined
      ? `${amount(matches)} of ${where} match${matches === 1 ? 'es' : ''}${several}`
      : `${which}no match in ${where}: ${miss}${others}`,
  ];
}

function outputLines({ at, path, outcome, reason, counts, rows }: RowOutput, paint: Painter): readonly string[] {
  const where = path === undefined ? '' : ` -> ${path}`;
  const differing = counts.changed > 0 ? ', with different content' : '';
  const kept = counts.unchanged > 0 ? [`  the table has ${counts.unchanged > 1 ? 'their keys' : 'its key'} already${differing}`] : [];
  return rows.flatMap((row, index) => {
    const name = rows.length === 1 ? '' : `, row ${index + 1}`;
    const problems = row.filter(({ problem }) => problem !== undefined).map((cell) => `  ! ${cell.name} ${cell.problem}`);
    const why = reason === undefined || problems.length > 0 ? '' : `: ${printable(reason)}`;
    return [
      `${at}${where}${name}: ${paint(tones[outcome], outcome)}${why}`,
      ...table(row),
      ...problems,
      ...(index === rows.length - 1 ? kept : []),
    ];
  });
}

function table(fields: readonly RowField[]): readonly string[] {
  const width = Math.min(40, Math.max(0, ...fields.map(({ name }) => name.length)));
  return fields.map(({ name, value }) => `  ${printable(name).padEnd(width)}  ${shown(value)}`.trimEnd());
}

/** Formats a value on one line. Null and an empty text look different. */
function shown(value: string | null): string {
  if (value === null) return 'null';
  if (value === '') return "''";
  return printable(value);
}
