import type { Column, Row } from '../core/index.js';

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
