import type { RowGroup, SchemaElement } from 'hyparquet';
import { version, type OutputColumn } from '../../core/index.js';
import type { Encoding } from '../engine.js';
import { storages } from '../storage.js';

/** The writer of a file, in the format that parquet-mr parses; it does not trust statistics of an application that it cannot parse. */
export const createdBy = `leadstream version ${version}`;

/**
 * Returns the schema of a file. Every column is optional, and none has a field id: readers that find ids match columns by these alone,
 * and read nulls if the ids were not assigned by a table format.
 */
export function schemaOf(columns: readonly OutputColumn[]): SchemaElement[] {
  const elements = columns.map(({ name, type }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...storages[type] }));
  return [{ name: 'root', num_children: columns.length }, ...elements];
}

/** Returns the sort order as recorded in row groups; empty if they have none. */
export function sortingOf(columns: readonly OutputColumn[], { sortedBy }: Encoding): NonNullable<RowGroup['sorting_columns']> {
  return sortedBy.map(({ column, descending }) => {
    return { column_idx: columns.findIndex(({ name }) => name === column), descending, nulls_first: false };
  });
}
