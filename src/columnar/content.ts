import type { Row } from '../collections/index.js';
import { Table } from './table.js';

/** Rows of a page, or of a part of one: as objects, or as columns. A table holds rows of the type that its reader says. */
export type Content<T = Row> = readonly T[] | Table;

/** All rows as objects. */
export function rowsIn<T>(content: Content<T>): readonly T[] {
  return content instanceof Table ? (content.rows as readonly T[]) : content;
}

/** One row as an object, without the others being made; `undefined` where there is none. */
export function rowAt<T>(content: Content<T>, index: number): T | undefined {
  if (!(content instanceof Table)) return content[index];
  return index >= 0 && index < content.length ? (content.row(index) as T) : undefined;
}

/** Some of the rows, in the order given. */
export function pickFrom<T>(content: Content<T>, rows: readonly number[]): Content<T> {
  return content instanceof Table ? content.pick(rows) : rows.flatMap((row) => content[row] ?? []);
}
