import { textOf, type Column, type Row } from '../core/index.js';

/** Prints rows as a table on stdout. A reader that has had enough is no failure. @param width Widest table, in characters. Default: that of the terminal. */
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

/** What is shown of a value that is personal or a credential. */
const hidden = '***';

/** Rows and columns without personal values and credentials: something is shown where something is. */
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

/** Widest column that is counted on. */
const usual = 24;

/** As many of the columns, in this order, as fit beside each other. At least one. */
export function fitting(columns: readonly Column[], rows: readonly Row[], room: number): readonly Column[] {
  let free = room;
  const count = columns.findIndex(({ name, type }) => {
    const texts = rows.map((row) => textOf(row[name] ?? null, type)?.length ?? 0);
    free -= Math.min(usual, Math.max(name.length, ...texts)) + 2;
    return free < -2;
  });
  return count < 0 ? columns : columns.slice(0, Math.max(1, count));
}
