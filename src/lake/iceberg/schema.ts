import { isDeepStrictEqual } from 'node:util';
import type { OutputColumn } from '../../core/index.js';
import type { PartitionField } from '../format.js';
import type { NestedField, PartitionSpec, Schema, TableMetadata } from './metadata.js';
import { primitiveTypes } from './values.js';

/**
 * Returns the schema of a table with these columns. A field keeps its id as long as name and type stay; every other one gets an id that no field had before,
 * so that a column that returns, or returns with another type, has none of the old values. https://iceberg.apache.org/spec/#schema-evolution
 */
export function schemaOf(metadata: TableMetadata | undefined, columns: readonly OutputColumn[]): Schema {
  const known = metadata?.schemas.find((schema) => schema['schema-id'] === metadata['current-schema-id'])?.fields ?? [];
  let lastId = metadata?.['last-column-id'] ?? 0;
  const fields = columns.map(({ name, type, comment }): NestedField => {
    const same = known.find((field) => field.name === name && field.type === primitiveTypes[type]);
    const doc = comment !== undefined && { doc: comment };
    return { id: same?.id ?? (lastId += 1), name, required: false, type: primitiveTypes[type], ...doc };
  });
  const equal = metadata?.schemas.find((schema) => isDeepStrictEqual(schema.fields, fields));
  return equal ?? { type: 'struct', 'schema-id': nextId(metadata?.schemas, 'schema-id'), fields };
}

/** Returns the partition spec of a table, in which equal fields keep their ids: https://iceberg.apache.org/spec/#partition-evolution */
export function specOf(metadata: TableMetadata | undefined, { fields }: Schema, partitions: readonly PartitionField[]): PartitionSpec {
  const specs = metadata?.['partition-specs'];
  const known = specs?.flatMap((spec) => spec.fields) ?? [];
  let lastId = metadata?.['last-partition-id'] ?? firstPartitionId - 1;
  const parts = partitions.map(({ source, transform, name }) => {
    const sourceId = fields.find((field) => field.name === source)?.id;
    if (sourceId === undefined) throw new Error(`no column is named ${source}`);
    const same = known.find((part) => part['source-id'] === sourceId && part.transform === transform && part.name === name);
    return { 'source-id': sourceId, 'field-id': same?.['field-id'] ?? (lastId += 1), name, transform };
  });
  const equal = specs?.find((spec) => isDeepStrictEqual(spec.fields, parts));
  return equal ?? { 'spec-id': nextId(specs, 'spec-id'), fields: parts };
}

/** https://iceberg.apache.org/spec/#partition-evolution */
export const firstPartitionId = 1000;

function nextId<Name extends string>(items: readonly Readonly<Record<Name, number>>[] | undefined, name: Name): number {
  return Math.max(-1, ...(items ?? []).map((item) => item[name])) + 1;
}
