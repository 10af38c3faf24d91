import type { RowGroup, SchemaElement } from 'hyparquet';
import { version, type OutputColumn } from '../../core/index.js';
import type { Encoding } from '../engine.js';
import { storages } from '../storage.js';

/** The writer of a file, in the format that parquet-mr parses; it ignores the statistics of applications that it cannot parse. */
export const createdBy = `leadstream version ${version}`;

/**
 * Returns the schema of a file: every column is optional, and none has a field id. Readers that find ids match columns only by them, so ids not
 * assigned by a table format would make them read nulls.
 */
export function schemaOf(columns: readonly OutputColumn[]): SchemaElement[] {
  const elements = columns.map(({ name, type }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...storages[type] }));
  return [{ name: 'root', num_children: columns.length }, ...elements];
}

/** Returns the order declared in row groups; nothing if they are not sorted. */
export function sortingOf(columns: readonly OutputColumn[], { sortedBy }: Encoding): NonNullable<RowGroup['sorting_columns']> {
  return sortedBy.map(({ column, descending }) => {
    return { column_idx: columns.findIndex(({ name }) => name === column), descending, nulls_first: false };
  });
}
