import { amount, amountOf, itemAt, type Column } from '../../core/index.js';
import type { Stage } from '../../index.js';
import { command, toggle, wordsIn, loadOne, onlyPipeline, pipelineFile, pipelineOptions, refuseUnknown, repeated } from '../command.js';
import { printTo, printRows } from '../console.js';

export const preview = command(
  'preview <file>',
  'Show the first rows after every step, and write nothing',
  (yargs) =>
    pipelineOptions(yargs)
      .positional('file', pipelineFile)
      .option('rows', { alias: 'n', type: 'number', default: 10, describe: 'Rows to show after each step' })
      .option('step', { type: 'number', describe: 'Only the rows after this step, counted from 0, with all columns' })
      .option('columns', { ...repeated, describe: 'Columns to show, like lead_id,email' })
      .option('sample', { type: 'number', default: 1000, describe: 'Maximum number of rows to read' })
      .option('reveal', { ...toggle, describe: 'Show personal values and credentials instead of ***' })
      .option('only', onlyPipeline)
      .example('$0 preview leads.yaml -n 5', 'the first five rows after every step')
      .example('$0 preview leads.yaml --step 2', 'all columns after steps[2]')
      .example('$0 preview leads.yaml --columns lead_id,zip_city', 'these columns after every step'),
  async (arguments_, context) => {
    const { previewPipeline } = await import('../../index.js');
    const { watchers } = await import('../watchers.js');
    const { reportFailure } = await import('../failure.js');
    const { console, signal, stdout } = context;
    const { rows, sample, step, reveal } = arguments_;
    const pipeline = await loadOne(arguments_, context);
    const reading = { rows, sample, ...(step !== undefined && { step }), signal, watch: watchers(console) };
    const { failure, whole, stages } = await previewPipeline(pipeline, reading);
    const chosen = step === undefined ? stages : stages.slice(-1);
    const wanted = wordsIn(arguments_.columns);
    // Some stages may lack a column.
    refuseUnknown('--columns', 'column', wanted, [...new Set(chosen.flatMap(({ columns }) => namesOf(columns)))]);
    for (const stage of chosen) {
      const earlier = stages[stages.indexOf(stage) - 1];
      const before = namesOf(earlier?.columns ?? stage.columns);
      await printTo(stdout, `${chosen.indexOf(stage) === 0 ? '' : '\n'}${titleOf(stage, before)}\n`);
      const all = stage.columns.map((column): Column => ({ ...column, type: 'text', cast: true }));
      const texts = stage.shown(stage.rows, reveal).map((fields) => Object.fromEntries(fields.map(({ name, value }) => [name, value])));
      const isFirst = ({ name }: Column) => pipeline.plan.collection.key.includes(name) || !before.includes(name);
      const sorted = [...all.filter(isFirst), ...all.filter((column) => !isFirst(column))];
      const fit = step === undefined ? fitting(sorted, texts, Math.max(20, stdout.columns ?? 100)) : all;
      const columns = wanted.length === 0 ? fit : wanted.flatMap((name) => all.find((column) => column.name === name) ?? []);
      if (columns.length > 0 && texts.length > 0) await printRows(stdout, { format: 'table', naming: 'snake_case' }, columns, texts);
      const more = all.length - columns.length;
      if (more > 0 && wanted.length === 0 && stage.rows.length > 0)
        await printTo(stdout, `(${amountOf(more, 'more column')}: --columns chooses, and --step shows all)\n`);
    }
    if (failure !== undefined) return reportFailure(console, failure);
    const what = `${amountOf(itemAt(stages, 0).passed, 'row')} of ${pipeline.plan.collection.name}`;
    console.log('info', `read ${whole ? `all ${what}` : `the first ${what} (--sample: more)`}; nothing was written`);
    return 0;
  },
);

function namesOf(columns: readonly Column[]): readonly string[] {
  return columns.map(({ name }) => name);
}

function titleOf({ at, rows, passed, columns }: Stage, before: readonly string[]): string {
  if (passed === 0) return `${at}: no row came out of it`;
  const after = namesOf(columns);
  const [added, gone] = [after.filter((name) => !before.includes(name)), before.filter((name) => !after.includes(name))];
  const changes = [...added.map((name) => ` +${name}`), ...gone.map((name) => ` -${name}`)].join('');
  const few = rows.length < passed ? `first ${amount(rows.length)} of ` : '';
  return `${at}: ${few}${amountOf(passed, 'row')}, ${amountOf(columns.length, 'column')}${changes === '' ? '' : `,${changes}`}`;
}

/** The first columns that fit side by side, at least one, with at most 24 characters for each. */
function fitting(columns: readonly Column[], rows: readonly Readonly<Record<string, string | null>>[], room: number): readonly Column[] {
  let free = room;
  const count = columns.findIndex(({ name }) => {
    free -= Math.min(24, Math.max(name.length, ...rows.map((row) => row[name]?.length ?? 0))) + 2;
    return free < -2;
  });
  return count < 0 ? columns : columns.slice(0, Math.max(1, count));
}
