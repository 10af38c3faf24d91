import type { Row } from '../collections/index.js';
import { Table, Texts, type Content } from '../columnar/index.js';

/**
 * One text for the values of some columns, such that different values give different texts.
 *
 * @returns `undefined` when a value is missing or empty: such a key identifies nothing.
 */
export function keyOf(row: Row, columns: readonly string[], normalize: (text: string) => string = String): string | undefined {
  const [first] = columns;
  if (first !== undefined && columns.length === 1) return part(row, first, normalize);
  let key = '';
  for (const column of columns) {
    const text = part(row, column, normalize);
    if (text === undefined) return undefined;
    key += `${text.length}:${text}`;
  }
  return key;
}

/** The same for all rows. */
export function keysOf<T extends Row>(content: Content<T>, columns: readonly string[]): readonly (string | undefined)[] {
  if (!(content instanceof Table)) return content.map((row) => keyOf(row, columns));
  const [first] = columns;
  const only = columns.length === 1 && first !== undefined ? content.columns.get(first) : undefined;
  if (only instanceof Texts) return Array.from({ length: only.length }, (_, row) => only.text(row) || undefined);
  const cells = columns.map((column) => [column, content.columns.get(column) ?? []] as const);
  return new Table(content.length, new Map(cells)).rows.map((row) => keyOf(row, columns));
}

function part(row: Row, column: string, normalize: (text: string) => string): string | undefined {
  const value = row[column];
  if (value === null || value === undefined) return undefined;
  const text = normalize(typeof value === 'string' ? value : value instanceof Date ? value.toISOString() : String(value));
  return text === '' ? undefined : text;
}
