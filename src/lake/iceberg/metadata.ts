import type { z } from 'zod';
import { isMap, schema, SinkError } from '../../core/index.js';

/** The id of a snapshot: ours are below 2^53, those of other writers have 63 bits. */
export type SnapshotId = number | bigint;

export const id = schema((z) => z.union([z.number().int(), z.bigint()]));

const nestedField = schema((z) =>
  // A nested type is an object; no column of ours has one.
  z.looseObject({ id: z.number(), name: z.string(), required: z.boolean(), type: z.unknown(), doc: z.string().optional() }),
);

const partitionField = schema((z) =>
  z.looseObject({ 'source-id': z.number(), 'field-id': z.number(), name: z.string(), transform: z.string() }),
);

const sortField = schema((z) => z.looseObject({ 'source-id': z.number().optional() }));

const snapshot = schema((z) =>
  z.looseObject({
    'snapshot-id': id(),
    'parent-snapshot-id': id().nullish(),
    'sequence-number': z.number(),
    'timestamp-ms': z.number(),
    'manifest-list': z.string(),
    summary: z.record(z.string(), z.string()),
    'schema-id': z.number().optional(),
  }),
);

const reference = schema((z) => z.looseObject({ 'snapshot-id': id(), type: z.enum(['branch', 'tag']) }));

/** The fields that we use; the others are kept as they are. */
const metadata = schema((z) =>
  z.looseObject({
    'format-version': z.literal(2),
    'table-uuid': z.string(),
    location: z.string(),
    'last-sequence-number': z.number(),
    'last-updated-ms': z.number(),
    'last-column-id': z.number(),
    schemas: z.array(
      z.looseObject({
        type: z.literal('struct'),
        'schema-id': z.number(),
        fields: z.array(nestedField()),
        'identifier-field-ids': z.array(z.number()).optional(),
      }),
    ),
    'current-schema-id': z.number(),
    'partition-specs': z.array(z.looseObject({ 'spec-id': z.number(), fields: z.array(partitionField()) })),
    'default-spec-id': z.number(),
    'last-partition-id': z.number(),
    'sort-orders': z.array(z.looseObject({ 'order-id': z.number(), fields: z.array(sortField()) })),
    'default-sort-order-id': z.number(),
    properties: z.record(z.string(), z.string()).optional(),
    'current-snapshot-id': id().nullish(),
    snapshots: z.array(snapshot()).optional(),
    'snapshot-log': z.array(z.looseObject({ 'snapshot-id': id(), 'timestamp-ms': z.number() })).optional(),
    'metadata-log': z.array(z.looseObject({ 'metadata-file': z.string(), 'timestamp-ms': z.number() })).optional(),
    refs: z.record(z.string(), reference()).optional(),
    statistics: z.array(z.looseObject({ 'snapshot-id': id(), 'statistics-path': z.string() })).optional(),
  }),
);

/** Table metadata of format version 2: https://iceberg.apache.org/spec/#table-metadata-fields */
export type TableMetadata = z.output<ReturnType<typeof metadata>>;

/** https://iceberg.apache.org/spec/#snapshots */
export type Snapshot = z.output<ReturnType<typeof snapshot>>;

/** https://iceberg.apache.org/spec/#schemas */
export type TableSchema = TableMetadata['schemas'][number];

export type NestedField = z.output<ReturnType<typeof nestedField>>;

/** https://iceberg.apache.org/spec/#partitioning */
export type PartitionSpec = TableMetadata['partition-specs'][number];

/** A branch or tag: https://iceberg.apache.org/spec/#snapshot-references */
export type SnapshotReference = z.output<ReturnType<typeof reference>>;

/** Checks table metadata that `parseExact` read `from` somewhere. @throws {SinkError} `E_SINK_FOREIGN` for another version of the format. */
export function tableMetadata(json: unknown, from: string): TableMetadata {
  const { success, data } = metadata().safeParse(json);
  if (success) return data;
  const version = isMap(json) ? Number(json['format-version']) : Number.NaN;
  throw new SinkError(
    'E_SINK_FOREIGN',
    `${from} cannot be read as table metadata of Iceberg's version 2; its format version is ${version}`,
  );
}

export function currentOf({ snapshots, 'current-snapshot-id': id }: TableMetadata): Snapshot | undefined {
  return snapshots?.find((snapshot) => snapshot['snapshot-id'] === id);
}
