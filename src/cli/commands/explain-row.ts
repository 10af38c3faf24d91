import type { Argv } from 'yargs';
import { amount, amountOf, printable } from '../../core/index.js';
import type { RowExplanation, RowField, RowPassage } from '../../index.js';
import type { CommandContext, Runner } from '../context.js';
import { loadOne, pipelineOptions, type PipelineArguments } from '../pipeline-options.js';
import { print } from '../streams.js';

interface ExplainRowArguments extends PipelineArguments {
  readonly file: string;
  readonly key: readonly string[];
  readonly format: 'text' | 'json';
  readonly scan: number;
  readonly reveal: boolean;
  readonly only: string | undefined;
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
          describe: 'Most rows of the list to read, if the record cannot be read by itself, and for a dedupe',
        })
        .option('reveal', { type: 'boolean', default: false, describe: 'Show personal values and credentials instead of ***' })
        .option('only', { type: 'string', describe: 'Name of the pipeline, if the file has several' })
        .check(({ scan }) => (Number.isInteger(scan) && scan >= 1) || '--scan takes a whole number of at least 1')
        .example('$0 explain-row leads.yaml 1000001', 'one lead')
        .example('$0 explain-row areas.yaml 212 "New York" NY', 'a key of three columns'),
    (arguments_) => runner(arguments_, (context) => explainRow(arguments_, context)),
  );
}

async function explainRow(arguments_: ExplainRowArguments, context: CommandContext): Promise<number> {
  const api = await import('../../index.js');
  const { watchers } = await import('../reporting.js');
  const { reportFailure } = await import('../failure.js');
  const { console, signal, stdout } = context;
  const { key, format, scan, reveal } = arguments_;
  const pipeline = await loadOne(arguments_, context);
  const { failure, ...explanation } = await api.explainRow(pipeline, key.map(String), { reveal, scan, signal, watch: watchers(console) });
  const text = format === 'json' ? JSON.stringify(explanation, undefined, 2) : textOf(explanation);
  await print(stdout, console.redact(`${text}\n`));
  return failure === undefined ? 0 : reportFailure(console, failure);
}

function textOf({ collection, record, steps }: Omit<RowExplanation, 'failure'>): string {
  const last = steps.find(({ outcome }) => outcome !== 'passed');
  const end = last
    ? `nothing is written for it: ${last.at}, ${last.outcome}`
    : `${amountOf(steps.at(-1)?.rows.length ?? 1, 'row')} for the outputs`;
  const befores = [record, ...steps.map(({ rows: [first = []] }) => first)];
  const blocks = [
    [`from ${collection}`, ...record.map(lineOf)],
    ...steps.map((step, index) => stepLines(step, befores[index] ?? [])),
    [end],
  ];
  return blocks.map(([title, ...lines]) => [title, ...lines.map((line) => `  ${line}`)].join('\n')).join('\n\n');
}

/** @param before The row that arrives, or the first of several. */
function stepLines({ at, outcome, counts, reason, rows, preferred }: RowPassage, before: readonly RowField[]): readonly string[] {
  const counted = Object.entries(counts).map(([name, count]) => `${amount(count)} ${name}`);
  const why = reason === undefined ? '' : `: ${printable(reason)}`;
  const values = new Map(before.map(({ name, value }) => [name, value]));
  const [first] = rows;
  const removed = first ? before.filter(({ name }) => first.every((field) => field.name !== name)) : [];
  return [
    `${at}: ${outcome}${counted.length > 0 ? ` (${counted.join(', ')})` : ''}${why}`,
    ...(rows.length > 1 ? [`${amount(rows.length)} rows leave it; the first:`] : []),
    ...(first ?? [])
      .filter(({ name, value }) => values.get(name) !== value)
      .map((field) => `${values.has(field.name) ? '~' : '+'} ${lineOf(field)}`),
    ...(removed.length > 0 ? [`- ${removed.map(({ name }) => printable(name)).join(', ')}`] : []),
    ...(preferred ? ['another row has its key, and comes first:', ...preferred.map(lineOf)] : []),
  ];
}

function lineOf({ name, value }: RowField): string {
  return `${printable(name)} = ${value === null ? 'null' : value === '' ? "''" : printable(value)}`;
}
