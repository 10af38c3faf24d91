import { isOnceOf, outputColumn, type OutputOptions, schema, shareIn, type Column, SinkError, zod } from '../core/index.js';
import { addedColumns, type AddingOptions } from '../lake/index.js';
import { distinct } from '../options/index.js';
import { columns, requireArriving } from './options.js';
import type { SinkContext, SinkPlan } from './sink.js';

const names = schema((z) => distinct(z.array(z.string().min(1))).readonly());
const share = schema((z) => z.string().regex(/^(?:100|\d{1,2}(?:\.\d+)?)%$/, 'a share is written like 5%'));

/** The options of sinks whose rows go by a key. @param cost What the key costs, for its description. */
export const keyedOptions = (cost: string) => ({
  key: columns().describe(`Columns that identify a row, for append and merge: ${cost}. Default: the collection's key.`),
  ignore: names()
    .optional()
    .describe('Columns that merge does not compare: rows that differ in these alone stay as they are; others get their new values, too.'),
  on_missing: zod()
    .enum(['keep', 'delete', 'mark'])
    .default('keep')
    .describe(
      'What merge does with rows of the table that the list no longer has, or that steps leave out: keep them, or, once that is proven, ' +
        'delete or mark them (deleted_at has the time, and is null again when the key returns).',
    ),
  max_deleted: share()
    .default('5%')
    .transform(shareIn)
    .describe('Share of the rows of the table, without marked ones, that merge may delete or mark; more fails the run.'),
  max_changed: share().transform(shareIn).optional().describe('Share of the rows of the table that merge may replace. Default: any.'),
});

interface KeyedConfig extends OutputOptions, AddingOptions {
  readonly mode: string;
  readonly key?: readonly string[] | undefined;
  readonly ignore?: readonly string[] | undefined;
  readonly on_missing: 'keep' | 'delete' | 'mark';
  readonly columns?: readonly string[] | undefined;
}

/** Refuses options that have no effect in the mode. */
export function refuseUnkeyed({ mode, key, ignore, on_missing }: KeyedConfig, refuse: (path: string, message: string) => void): void {
  if (mode !== 'merge' && ignore) refuse('ignore', 'ignore needs mode: merge');
  if (mode !== 'merge' && on_missing !== 'keep') refuse('on_missing', 'on_missing needs mode: merge');
  key?.forEach((name) => ignore?.includes(name) && refuse('ignore', `${name} identifies rows, so it is compared`));
}

/** Checks the columns of the key, and others named with it, against those that arrive. */
export function checkKeyed(options: KeyedConfig, arriving: readonly Column[], plan: SinkPlan): void {
  const { columns: only, key, ignore, mode, on_missing } = options;
  const chosen = arriving.filter(({ name }) => only?.includes(name) ?? true);
  for (const [option, columns = []] of Object.entries({ key, ignore }))
    columns.forEach((name, index) => requireArriving(name, [option, index], chosen, plan));
  const missing = key ? [] : plan.key.filter((source) => !chosen.some((column) => isOnceOf(source, column)));
  if ((mode === 'append' || mode === 'merge') && missing.length > 0)
    plan.problem(
      ['mode'],
      `${mode} needs the key ${plan.key.join(' + ')}, but ${missing.join(', ')} does not reach the sink unchanged and once per row; name other columns under key`,
    );
  const written = chosen.flatMap((column) => [column.name, outputColumn(column, options).name.toLowerCase()]);
  const [option, adding] = options.history ? ['history', 'history'] : ['on_missing', 'mark'];
  for (const { name } of addedColumns(options).filter((column) => written.includes(column.name)))
    plan.problem([option], `${adding} adds the column ${name}, but a column of that name already exists; rename it`);
  if (on_missing === 'keep') return;
  if (plan.apart !== undefined)
    plan.problem(['on_missing'], `rows are deleted by the key of the list, and behind ${plan.apart} rows are others; use keep`);
  const columnsOfKey = plan.key.flatMap((source) => chosen.find((column) => isOnceOf(source, column)) ?? []);
  const isKey = columnsOfKey.length === plan.key.length && (key?.length ?? plan.key.length) === plan.key.length;
  const isUnchanged = columnsOfKey.every(({ name, type }) => type === 'text' && key?.includes(name) !== false);
  if (plan.key.length === 0 || !isKey || !isUnchanged)
    plan.problem(['on_missing'], `the key of the list, ${plan.key.join(' + ')}, must be the key of the table, as texts and unchanged`);
}

/**
 * Returns the fields that identify a row, in the order of the collection's key if missing rows are looked up by it.
 *
 * @throws {SinkError} `E_SINK_KEY` if one does not reach the sink. A table that is replaced may do without: then there are none.
 */
export function keyFields(arriving: readonly Column[], options: KeyedConfig, context: SinkContext): readonly string[] {
  const { at, key, presence } = context;
  const sources = options.on_missing === 'keep' ? undefined : presence?.key;
  const wanted = options.key?.length ?? key.length;
  const fields =
    (sources ? undefined : options.key) ??
    (sources ?? key).flatMap((source) => arriving.find((column) => isOnceOf(source, column))?.name ?? []);
  const written = arriving.filter(({ name }) => options.columns?.includes(name) ?? true).map(({ name }) => name);
  if (fields.length > 0 && fields.length >= wanted && fields.every((field) => written.includes(field))) return fields;
  if (options.mode === 'replace') return [];
  throw new SinkError('E_SINK_KEY', `${at}: ${options.mode} needs columns that identify a row; name them under key`);
}
