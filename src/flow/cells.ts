import { columnReader, type Row } from '../collections/index.js';
import { pickFrom, Table, type Cells, type Content } from '../columnar/index.js';

/** The values of one field in all rows, in their order; `null` where a row does not have it. */
export function cellsIn(content: Content, field: string): Cells {
  if (!(content instanceof Table)) return content.map((row) => row[field] ?? null);
  return content.columns.get(field) ?? new Array<null>(content.length).fill(null);
}

/** The same for many fields: rows are gone through once, not once per field. */
export function cellsReader(fields: readonly string[]): (content: Content) => readonly Cells[] {
  const read = columnReader(fields);
  return (content) => (content instanceof Table ? fields.map((field) => cellsIn(content, field)) : read(content));
}

/** The rows whose index satisfies a condition. */
export function keepWhere<T extends Row>(content: Content<T>, condition: (row: number) => boolean): Content<T> {
  const kept: number[] = [];
  for (let row = 0; row < content.length; row += 1) if (condition(row)) kept.push(row);
  return keepRows(content, kept);
}

/** The rows with these indexes, which ascend. When all stay, nothing is copied. */
export function keepRows<T extends Row>(content: Content<T>, kept: readonly number[]): Content<T> {
  return kept.length === content.length ? content : pickFrom(content, kept);
}
