import type { Row, Value } from '../collections/index.js';
import { Table, Texts, valueAt, type Content } from '../columnar/index.js';
import { cellsIn } from './cells.js';

/**
 * One text for the values of some columns, such that different values give different texts.
 *
 * @returns `undefined` when a value is missing or empty: such a key identifies nothing.
 */
export function keyOf(row: Row, columns: readonly string[], normalize: (text: string) => string = String): string | undefined {
  const [first] = columns;
  if (first !== undefined && columns.length === 1) return part(row[first], normalize);
  let key = '';
  for (const column of columns) {
    const text = part(row[column], normalize);
    if (text === undefined) return undefined;
    key += counted(text);
  }
  return key;
}

/** The same for the rows of a page by their index; of a table, no more is looked at than these columns. */
export function keyIn(
  content: Content,
  columns: readonly string[],
  normalize: (text: string) => string = String,
): (row: number) => string | undefined {
  if (!(content instanceof Table)) return (row) => keyOf(content[row] ?? {}, columns, normalize);
  const parts = columns.map((column) => partIn(content, column, normalize));
  const [first] = parts;
  if (first && parts.length === 1) return first;
  return (row) => {
    let key = '';
    for (const partAt of parts) {
      const text = partAt(row);
      if (text === undefined) return undefined;
      key += counted(text);
    }
    return key;
  };
}

function partIn(table: Table, column: string, normalize: (text: string) => string): (row: number) => string | undefined {
  const cells = cellsIn(table, column);
  if (!(cells instanceof Texts)) return (row) => part(valueAt(cells, row), normalize);
  return (row) => (cells.start(row) === cells.end(row) ? undefined : part(cells.text(row), normalize));
}

function counted(text: string): string {
  return `${text.length}:${text}`;
}

function part(value: Value | undefined, normalize: (text: string) => string): string | undefined {
  if (value === null || value === undefined) return undefined;
  const text = normalize(typeof value === 'string' ? value : value instanceof Date ? value.toISOString() : String(value));
  return text === '' ? undefined : text;
}
