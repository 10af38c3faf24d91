import type { CollectionName } from '../collections/index.js';

/**
 * The rows of one collection in a fixed order, each as the JSON text of one object.
 *
 * Rows are texts, so that none needs to be parsed or built as an object on its way out.
 */
export interface ServedTable {
  /** Number of rows. */
  readonly count: number;
  /** The row at a 0-based position below `count`. */
  row(index: number): string;
  /** Positions, in ascending order, of the rows with this identifier; empty when nothing matches. */
  find(id: string): readonly number[];
}

/** What the service serves: a table for every collection. */
export type DataSource = { readonly [N in CollectionName]: ServedTable };

/** Yields up to `limit` rows from a 0-based offset on, each computed when it is taken; none past the end. */
export function* rowsOf(table: ServedTable, offset: number, limit: number): Generator<string> {
  const end = Math.min(offset + limit, table.count);
  for (let index = offset; index < end; index += 1) yield table.row(index);
}
