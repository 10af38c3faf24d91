import { itemAt } from '../../core/index.js';
import { comparing } from '../../vector/index.js';
import type { AddedFile } from '../format.js';
import { folderName } from '../partitions.js';
import { type DataFile, type ManifestContent, optional } from './manifests.js';
import type { PartitionSpec, Schema, TableMetadata } from './metadata.js';
import { avroTypes, avroValue, declaredTypeOf, lowerBound, type PrimitiveType, singleValue, upperBound, valueOf } from './values.js';

/** Returns what a manifest says about a file: https://iceberg.apache.org/spec/#data-file-fields */
export function dataFileOf(location: string, file: AddedFile, schema: Schema, spec: PartitionSpec): DataFile {
  const columns = schema.fields.flatMap(({ id, name, type }) => {
    const statistics = file.statistics.get(name);
    return statistics ? [{ id, type: type as PrimitiveType, ...statistics }] : [];
  });
  const byId = <T>(of: (column: (typeof columns)[number]) => T | undefined) =>
    columns.map((column) => ({ key: column.id, value: of(column) })).filter(({ value }) => value !== undefined);
  const types = partTypes(schema, spec);
  const partition = types.map(({ name, type }, index) => [name, avroValue(itemAt(file.partition, index), type)] as const);
  return {
    content: 0,
    file_path: `${location}/${file.name}`,
    file_format: 'PARQUET',
    partition: Object.fromEntries(partition),
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

/** Returns what the manifest of new files has in common, with the bounds of each partition field. */
export function addedContent(schema: Schema, spec: PartitionSpec, files: readonly AddedFile[]): ManifestContent {
  const types = partTypes(schema, spec);
  return {
    header: { schema: JSON.stringify(schema), 'schema-id': String(schema['schema-id']), 'partition-spec': JSON.stringify(spec.fields) },
    specId: spec['spec-id'],
    partitionType: { type: 'record', name: 'r102', fields: types.map(({ id, name, type }) => optional(id, name, avroTypes[type])) },
    partitions: types.map(({ type }, index) => {
      const values = files.map(({ partition }) => avroValue(itemAt(partition, index), type));
      const present = values.filter((value) => value !== null).sort(comparing(type === 'string' ? 'text' : 'integer'));
      const [lower, upper] = [present[0], present.at(-1)].map((value) => (value === undefined ? null : singleValue(value, type)));
      return { contains_null: present.length < values.length, contains_nan: false, lower_bound: lower, upper_bound: upper };
    }),
  };
}

/** Returns the fields of a partition tuple, with the results of their transforms as types, and names that Avro allows. */
function partTypes({ fields }: Schema, spec: PartitionSpec) {
  return spec.fields.map((part) => {
    const source = fields.find((field) => field.id === part['source-id'])?.type as PrimitiveType;
    const type: PrimitiveType = part.transform === 'month' ? 'int' : part.transform === 'day' ? 'date' : source;
    return { id: part['field-id'], name: /^[A-Za-z_]\w*$/.test(part.name) ? part.name : `_${part['field-id']}`, type };
  });
}

/** Returns the folder that a partition has in our names; `undefined` for transforms that we do not write. */
export function folderOf(metadata: TableMetadata, specId: number, { partition }: DataFile): string | undefined {
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
