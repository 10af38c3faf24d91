import type { Row } from '../collections/index.js';

/**
 * One text for the values of some columns, such that different values give different texts.
 *
 * @returns `undefined` when a value is missing or empty: such a key identifies nothing.
 */
export function keyOf(row: Row, columns: readonly string[], normalize: (text: string) => string = String): string | undefined {
  let key = '';
  for (const column of columns) {
    const value = row[column];
    if (value === null || value === undefined) return undefined;
    const text = normalize(value instanceof Date ? value.toISOString() : String(value));
    if (text === '') return undefined;
    key = columns.length === 1 ? text : `${key}${text.length}:${text}`;
  }
  return key;
}
