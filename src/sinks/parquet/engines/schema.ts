import { createRequire } from 'node:module';
import type { RowGroup, SchemaElement } from 'hyparquet';
import { z } from 'zod';
import type { OutputColumn } from '../../output-column.js';
import { storages, type Encoding } from '../encoder.js';
import { fieldIds } from './field-ids.js';

const { version } = z.object({ version: z.string() }).parse(createRequire(import.meta.url)('../../../../package.json'));

/** Who wrote a file, in the shape that parquet-mr parses; it does not trust statistics of an application that it cannot parse. */
export const createdBy = `leadstream version ${version}`;

/** The schema of a file: every column optional, with an id that follows from its name. */
export function schemaOf(columns: readonly OutputColumn[]): SchemaElement[] {
  const ids = fieldIds(columns.map(({ name }) => name));
  const elements = columns.map(({ name, type }): SchemaElement => {
    const id = ids.get(name);
    return { name, repetition_type: 'OPTIONAL', ...storages[type], ...(id !== undefined && { field_id: id }) };
  });
  return [{ name: 'root', num_children: columns.length }, ...elements];
}

/** What row groups say of their order; nothing when they have none. */
export function sortingOf(columns: readonly OutputColumn[], { sortedBy }: Encoding): NonNullable<RowGroup['sorting_columns']> {
  return sortedBy.map(({ column, descending }) => {
    return { column_idx: columns.findIndex(({ name }) => name === column), descending, nulls_first: false };
  });
}
