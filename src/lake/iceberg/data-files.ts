import { itemAt } from '../../core/index.js';
import type { AddedFile } from '../format.js';
import { folderName } from '../partitions.js';
import { type DataFile, optional, record } from './manifests.js';
import type { PartitionSpec, TableSchema, TableMetadata } from './metadata.js';
import { avroTypes, avroValue, declaredTypeOf, lowerBound, type PrimitiveType, upperBound, valueOf } from './values.js';

/** Returns what a manifest says about a file: https://iceberg.apache.org/spec/#data-file-fields */
export function dataFileOf(location: string, file: AddedFile, schema: TableSchema, spec: PartitionSpec): DataFile {
  const columns = schema.fields.flatMap(({ id, name, type }) => {
    const statistics = file.statistics.get(name);
    return statistics ? [{ id, type: type as PrimitiveType, ...statistics }] : [];
  });
  const byId = <T>(of: (column: (typeof columns)[number]) => T | undefined) =>
    columns.map((column) => ({ key: column.id, value: of(column) })).filter(({ value }) => value !== undefined);
  const parts = partsOf(schema, spec).map(({ name, type }, index) => [name, avroValue(itemAt(file.partition, index), type)] as const);
  return {
    content: 0,
    file_path: `${location}/${file.name}`,
    file_format: 'PARQUET',
    partition: Object.fromEntries(parts),
    record_count: file.rows,
    file_size_in_bytes: file.bytes,
    column_sizes: byId(({ bytes }) => bytes),
    value_counts: byId(() => file.rows),
    null_value_counts: byId(({ nulls }) => nulls),
    lower_bounds: byId(({ min, type }) => lowerBound(min, type)),
    upper_bounds: byId(({ max, type }) => upperBound(max, type)),
    sort_order_id: 0,
  };
}

export function partitionTypeOf(schema: TableSchema, spec: PartitionSpec): unknown {
  return record('r102', ...partsOf(schema, spec).map(({ id, name, type }) => optional(id, name, avroTypes[type])));
}

/** Returns the fields of a partition tuple, with the results of their transforms as types, and names that Avro allows. */
function partsOf({ fields }: TableSchema, spec: PartitionSpec) {
  return spec.fields.map(({ name, transform, 'field-id': id, 'source-id': sourceId }) => {
    const source = fields.find((field) => field.id === sourceId)?.type as PrimitiveType;
    const type: PrimitiveType = transform === 'month' ? 'int' : transform === 'day' ? 'date' : source;
    return { id, name: /^[A-Za-z_]\w*$/.test(name) ? name : `_${id}`, type };
  });
}

/** Returns the folder that a partition has in our names; `undefined` for transforms that we do not write. */
export function partitionFolder(metadata: TableMetadata, specId: number, { partition }: Pick<DataFile, 'partition'>): string | undefined {
  const spec = metadata['partition-specs'].find((each) => each['spec-id'] === specId);
  const fields = metadata.schemas.flatMap((schema) => schema.fields);
  const values = Object.values(partition);
  const levels = spec?.fields.map(({ name, transform, 'source-id': sourceId }, index) => {
    const type = declaredTypeOf(fields.find(({ id }) => id === sourceId)?.type);
    if (type === undefined || (transform !== 'identity' && transform !== 'month' && transform !== 'day')) return undefined;
    return folderName({ name, transform }, valueOf(values[index], transform === 'identity' ? type : 'integer'), type, 'iceberg');
  });
  return levels === undefined || levels.includes(undefined) ? undefined : levels.join('/');
}
