import type { DeclaredType, OutputColumn } from '../../core/index.js';
import { deletedAt } from '../../lake/index.js';

export const columnTypes: Readonly<Record<DeclaredType, string>> = {
  text: 'text',
  flag: 'boolean',
  integer: 'bigint',
  decimal: 'double precision',
  timestamp: 'timestamp with time zone',
  date: 'date',
};

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quotedList(names: readonly string[]): string {
  return names.map(quoted).join(', ');
}

export function definitionOf({ name, type }: OutputColumn): string {
  return `${quoted(name)} ${columnTypes[type]}`;
}

export const ledgerName = 'leadstream_runs';

/** A table. `name` is its name as SQL, `ledger` that of the table with a row for each run, in its schema. */
export type Target = ReturnType<typeof targetOf>;

export function targetOf(text: string) {
  const [first = '', second] = text.split('.');
  const [schema, table] = second === undefined ? ['public', first] : [first, second];
  return { schema, table, name: `${quoted(schema)}.${quoted(table)}`, ledger: `${quoted(schema)}.${ledgerName}` };
}

/** How a run changes the rows of a table. */
export interface Change {
  readonly target: Target;
  readonly mode: 'replace' | 'append' | 'merge';
  readonly on_missing: 'keep' | 'delete' | 'mark';
  /** Columns of the rows of the run. */
  readonly columns: readonly OutputColumn[];
  /** Names of columns that identify a row. */
  readonly key: readonly string[];
  /** Names of columns in which rows may differ and still be the same. */
  readonly ignored: readonly string[];
  /** Whether the table has the time at which rows were marked as deleted. */
  readonly marks: boolean;
}

/** The rows of the run in a transaction, then the keys of rows that it deletes. */
export const stage = 'pg_temp.leadstream_stage';

/** Makes an empty one, even after another one, or if a session that PgBouncer shares has a table of that name. */
export function stageSql(columns: readonly OutputColumn[]): string {
  return `DROP TABLE IF EXISTS ${stage}; CREATE TEMPORARY TABLE ${stage} (${columns.map(definitionOf).join(', ')}) ON COMMIT DROP`;
}

export function sameKey(key: readonly string[]): string {
  return key.map((name) => `kept.${quoted(name)} = stage.${quoted(name)}`).join(' AND ');
}

/** Whether a row of the stage differs from that of the table, where a marked row has returned. @param known Without new columns. */
export function difference({ columns, key, ignored }: Change, known: Change): string {
  const compared = columns.filter(({ name }) => !key.includes(name) && !ignored.includes(name));
  const kept = compared.map((column) =>
    known.columns.includes(column) ? `kept.${quoted(column.name)}` : `NULL::${columnTypes[column.type]}`,
  );
  const staged = compared.map(({ name }) => `stage.${quoted(name)}`);
  const differs = compared.length === 0 ? [] : [`ROW(${kept.join(', ')}) IS DISTINCT FROM ROW(${staged.join(', ')})`];
  return [...differs, ...(known.marks ? [`kept.${deletedAt.name} IS NOT NULL`] : [])].join(' OR ') || 'false';
}

/** The statements of a run, by what they count, in their order. The stage has its rows by then; `replace` copies them instead. */
export function statementsOf(change: Change): Readonly<Partial<Record<'deleted' | 'changed' | 'inserted', string>>> {
  const { target, mode, columns, key, marks } = change;
  const names = quotedList(columns.map(({ name }) => name));
  const insert = `INSERT INTO ${target.name} (${names}) SELECT ${names} FROM ${stage} AS stage`;
  if (mode === 'replace') return { deleted: `DELETE FROM ${target.name}`, inserted: insert };
  const inserted = `${insert} WHERE NOT EXISTS (SELECT FROM ${target.name} AS kept WHERE ${sameKey(key)})`;
  const others = columns.flatMap(({ name }) => (key.includes(name) ? [] : [`${quoted(name)} = stage.${quoted(name)}`]));
  const values = [...others, ...(marks ? [`${deletedAt.name} = NULL`] : [])].join(', ');
  if (mode === 'append' || values === '') return { inserted };
  const where = `${sameKey(key)} AND (${difference(change, change)})`;
  return { changed: `UPDATE ${target.name} AS kept SET ${values} FROM ${stage} AS stage WHERE ${where}`, inserted };
}

/** Deletes or marks the rows of keys in the stage. */
export function deletion({ target, on_missing, key }: Change): string {
  const where = sameKey(key);
  if (on_missing === 'delete') return `DELETE FROM ${target.name} AS kept USING ${stage} AS stage WHERE ${where}`;
  const isUnmarked = `kept.${deletedAt.name} IS NULL`;
  return `UPDATE ${target.name} AS kept SET ${deletedAt.name} = now() FROM ${stage} AS stage WHERE ${where} AND ${isUnmarked}`;
}
