import type { RowGroup, SchemaElement } from 'hyparquet';
import { version, type OutputColumn } from '../../core/index.js';
import type { Encoding } from '../engine.js';
import { storages } from '../storage.js';

/** Who wrote a file, in the shape that parquet-mr parses; it does not trust statistics of an application that it cannot parse. */
export const createdBy = `leadstream version ${version}`;

/**
 * The schema of a file: every column optional, and none with a field id. Readers that find ids match columns by them alone, so that ids
 * which a table format did not give out itself make them read nulls.
 */
export function schemaOf(columns: readonly OutputColumn[]): SchemaElement[] {
  const elements = columns.map(({ name, type }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...storages[type] }));
  return [{ name: 'root', num_children: columns.length }, ...elements];
}

/** What row groups say of their order; nothing when they have none. */
export function sortingOf(columns: readonly OutputColumn[], { sortedBy }: Encoding): NonNullable<RowGroup['sorting_columns']> {
  return sortedBy.map(({ column, descending }) => {
    return { column_idx: columns.findIndex(({ name }) => name === column), descending, nulls_first: false };
  });
}
