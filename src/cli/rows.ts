import { textOf, type Column, type Row } from '../core/index.js';

/**
 * Prints rows as a table on stdout. A reader that has had enough is not an error.
 *
 * @param width Largest width of the table, in characters. Default: the width of the terminal.
 */
export async function printRows(
  stdout: NodeJS.WritableStream,
  columns: readonly Column[],
  rows: readonly Row[],
  width?: number,
): Promise<void> {
  const { ClosedPipeError, stdout: stdoutSink } = await import('../index.js');
  const out = await stdoutSink({ format: 'table', naming: 'snake_case', ...(width !== undefined && { width }) }, { stdout });
  try {
    await out.begin(columns);
    await out.write({ number: 1, rows, lease: { release: () => {} } });
    await out.prepare();
  } catch (failure) {
    if (!(failure instanceof ClosedPipeError)) throw failure;
  }
}

/** Shown in place of a personal value or a credential. */
const hidden = '***';

/** Masks personal values and credentials in rows and columns. Empty values are shown as empty. */
export function masked(
  columns: readonly Column[],
  rows: readonly Row[],
): { readonly columns: readonly Column[]; readonly rows: readonly Row[] } {
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
export function fitting(columns: readonly Column[], rows: readonly Row[], room: number): readonly Column[] {
  let free = room;
  const count = columns.findIndex(({ name, type }) => {
    const texts = rows.map((row) => textOf(row[name] ?? null, type)?.length ?? 0);
    free -= Math.min(usual, Math.max(name.length, ...texts)) + 2;
    return free < -2;
  });
  return count < 0 ? columns : columns.slice(0, Math.max(1, count));
}
