import { amount, amountOf, printable } from '../../core/index.js';
import type { RowExplanation, RowField, RowPassage } from '../../index.js';
import { command, toggle, loadOne, onlyPipeline, pipelineFile, pipelineOptions, textOrJson } from '../command.js';
import { printTo } from '../console.js';

export const explainRow = command(
  'explain-row <file> <key..>',
  'Show what every step does to one record, and write nothing',
  (yargs) =>
    pipelineOptions(yargs)
      .positional('file', pipelineFile)
      .positional('key', {
        type: 'string',
        array: true,
        demandOption: true,
        describe: 'Key of the record; if it has several columns, one value for each',
      })
      .option('format', { ...textOrJson, describe: 'Text for people, or JSON' })
      .option('scan', {
        type: 'number',
        default: 10_000,
        describe: 'Maximum number of rows of the list to read, for a record without a single read, or a dedupe',
      })
      .option('reveal', { ...toggle, describe: 'Show personal values and credentials instead of ***' })
      .option('only', onlyPipeline)
      .example('$0 explain-row leads.yaml 1000001', 'one lead')
      .example('$0 explain-row areas.yaml 212 "New York" NY', 'a key of three columns'),
  async (arguments_, context) => {
    const api = await import('../../index.js');
    const { watchers } = await import('../watchers.js');
    const { reportFailure } = await import('../failure.js');
    const { console, signal, stdout } = context;
    const { key, format, scan, reveal } = arguments_;
    const pipeline = await loadOne(arguments_, context);
    const { failure, ...explanation } = await api.traceRow(pipeline, key.map(String), { reveal, scan, signal, watch: watchers(console) });
    const text = format === 'json' ? JSON.stringify(explanation, undefined, 2) : textOf(explanation);
    await printTo(stdout, console.redact(`${text}\n`));
    return failure === undefined ? 0 : reportFailure(console, failure);
  },
);

function textOf({ collection, record, steps, sinks }: Omit<RowExplanation, 'failure'>): string {
  const last = steps.find(({ outcome }) => outcome !== 'passed');
  const end = last
    ? `${last.outcome === 'depends on all rows' ? 'what is written for it is not known' : 'nothing is written for it'}: ${last.at}, ${last.outcome}`
    : `${amountOf(steps.at(-1)?.rows.length ?? 1, 'row')} for the outputs`;
  const befores = [record, ...steps.map(({ rows: [first = []] }) => first)];
  const blocks = [
    [`from ${collection}`, ...record.map(lineOf)],
    ...steps.map((step, index) => stepLines(step, befores[index] ?? [])),
    [end, ...sinks.flatMap((sink) => stepLines(sink, sink.rows[0] ?? []))],
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
