import type { z } from 'zod';
import { isMap, schema, SinkError } from '../../core/index.js';
import { type ObjectStore, writeOnce } from '../../store/index.js';
import { readAvro, writeAvro } from './avro.js';
import { inGroups } from '../in-groups.js';
import { id, type PartitionSpec, type TableSchema, type Snapshot, type SnapshotId } from './metadata.js';

/** NaN if it is missing, as it may be in a list of format version 1. */
const count = schema((z) =>
  z
    .number()
    .nullish()
    .transform((found) => found ?? Number.NaN),
);

const manifestFile = schema((z) =>
  z.object({
    manifest_path: z.string(),
    manifest_length: z.number(),
    partition_spec_id: z.number(),
    content: z.number().default(0),
    added_snapshot_id: id(),
    // Files of format version 1 lack sequence numbers, which are 0 then.
    sequence_number: z.number().nullish(),
    added_files_count: count(),
    existing_files_count: count(),
    deleted_files_count: count(),
    added_rows_count: count(),
    existing_rows_count: count(),
  }),
);

type ListedManifest = z.output<ReturnType<typeof manifestFile>>;

const manifestEntry = schema((z) =>
  z.object({
    status: z.number(),
    snapshot_id: id().nullish(),
    sequence_number: z.number().nullish(),
    file_sequence_number: z.number().nullish(),
    data_file: z.looseObject({
      content: z.number().default(0),
      file_path: z.string(),
      file_format: z.string(),
      partition: z.looseObject({}),
      record_count: z.number(),
      file_size_in_bytes: z.number(),
    }),
  }),
);

/** A row of a manifest: https://iceberg.apache.org/spec/#manifests */
export type ManifestEntry = z.output<ReturnType<typeof manifestEntry>>;

export type DataFile = ManifestEntry['data_file'];

export const status = { existing: 0, added: 1, deleted: 2 } as const;

/** What a manifest has. */
export interface ManifestContent {
  readonly specId: number;
  /** Avro's type of a partition tuple. */
  readonly partitionType: unknown;
  readonly entries: readonly ManifestEntry[];
}

/** A manifest that was written, and its entries that are not deleted. */
export interface WrittenManifest extends ManifestContent {
  /** Its row in a manifest list, which later lists have, too. */
  readonly row: ReturnType<typeof rowOf>;
}

/**
 * Reads the manifests of a snapshot that have entries which are not deleted.
 *
 * @throws {SinkError} `E_SINK_FOREIGN` if a file is missing, or is not what the one that names it says: another one, or shorter.
 */
export async function readManifests(store: ObjectStore, snapshot: Snapshot): Promise<readonly WrittenManifest[]> {
  const found: WrittenManifest[] = [];
  for await (const manifest of inGroups(await readManifestList(store, snapshot), (row) => readManifest(store, row)))
    if (manifest.entries.length > 0) found.push(manifest);
  return found;
}

/** Reads a manifest, and the ids and numbers that its entries inherit from its row in a list. @throws As `readManifests`. */
export async function readManifest(store: ObjectStore, listed: ListedManifest): Promise<WrittenManifest> {
  const { manifest_path: path, partition_spec_id: specId, added_snapshot_id: adding } = listed;
  const { schema: type, records, bytes } = await readIceberg(store, path);
  const number = listed.sequence_number ?? 0;
  const all = records.map((record) => {
    const entry = manifestEntry().parse(record);
    const { snapshot_id: id = adding, sequence_number: own, file_sequence_number: ofFile } = entry;
    return { ...entry, snapshot_id: id ?? adding, sequence_number: own ?? number, file_sequence_number: ofFile ?? number };
  });
  const entries = all.filter((entry) => entry.status !== status.deleted);
  // A manifest in the place of another one may have as many.
  const others = entries.filter((entry) => entry.status === status.added && entry.snapshot_id !== adding);
  refuseDamaged(path, [
    ['bytes', bytes, listed.manifest_length],
    ['files', entries.length, liveIn(listed, 'files')],
    ['rows', sumOfEntries(entries, 'record_count'), liveIn(listed, 'rows')],
    ['deleted files', all.length - entries.length, listed.deleted_files_count],
    ['files of another snapshot', others.length, 0],
  ]);
  const partitionType = memberType(memberType(type, 'data_file'), 'partition');
  return { specId, partitionType, entries, row: rowOf(path, bytes, { specId, entries: all }, adding, number) };
}

/** Reads a manifest list, whose fields other writers may have named otherwise. */
export async function readManifestList(store: ObjectStore, snapshot: Snapshot): Promise<readonly ListedManifest[]> {
  const { 'snapshot-id': id, 'manifest-list': path, summary } = snapshot;
  const { schema: type, metadata, records } = await readIceberg(store, path);
  const known = new Map(manifestFileFields.map((field) => [field['field-id'], field.name]));
  const { fields } = recordType().parse(type);
  const names = new Map(fields.map((field) => [field.name, known.get(field['field-id'] ?? 0) ?? field.name]));
  const manifests = records.map((found) => {
    const members = Object.entries(isMap(found) ? found : {}).map(([name, value]) => [names.get(name), value] as const);
    return manifestFile().parse(Object.fromEntries(members));
  });
  const sum = (what: 'files' | 'rows') =>
    manifests.reduce((total, manifest) => (manifest.content === 0 ? total + liveIn(manifest, what) : total), 0);
  refuseDamaged(path, [
    ['as the id of its snapshot', BigInt(metadata['snapshot-id']?.toString() ?? id), BigInt(id)],
    ['files', sum('files'), Number(summary['total-data-files'])],
    ['rows', sum('rows'), Number(summary['total-records'])],
  ]);
  return manifests;
}

function liveIn(manifest: ListedManifest, what: 'files' | 'rows'): number {
  return manifest[`added_${what}_count`] + manifest[`existing_${what}_count`];
}

/** @throws {SinkError} `E_SINK_FOREIGN` if a file has another number of something than the one that names it says. */
function refuseDamaged(path: string, counts: readonly (readonly [what: string, found: number | bigint, said: number | bigint])[]): void {
  const wrong = counts.find(([, found, said]) => found !== said && !Number.isNaN(Number(found) + Number(said)));
  if (wrong === undefined) return;
  const [what, found, said] = wrong;
  const fault = `it has ${found} ${what}, but what names it says ${said}`;
  throw new SinkError('E_SINK_FOREIGN', `${path} is damaged: ${fault}; restore it from a copy`);
}

function memberType(record: unknown, name: string): unknown {
  return recordType()
    .parse(record)
    .fields.find((field) => field.name === name)?.type;
}

const recordType = schema((z) =>
  z.object({ fields: z.array(z.object({ name: z.string(), type: z.unknown(), 'field-id': z.number().optional() })) }),
);

async function readIceberg(store: ObjectStore, path: string) {
  const found = await store.read(objectKeyOf(store, path));
  if (found === undefined) throw new SinkError('E_SINK_FOREIGN', `${path} is missing, although the table names it`);
  const content = await readAvro(found.bytes).catch((failure: unknown) => {
    throw new SinkError('E_SINK_FOREIGN', `${path} cannot be read`, { cause: failure });
  });
  return { ...content, bytes: found.bytes.length };
}

/** Returns the key of an object that a table names by its absolute path. */
export function objectKeyOf({ root }: ObjectStore, path: string): string {
  if (!path.startsWith(`${root}/`)) throw new SinkError('E_SINK_FOREIGN', `${path} of the table is outside of ${root}`);
  return path.slice(root.length + 1);
}

export type SnapshotNumbers = Pick<Snapshot, 'snapshot-id' | 'parent-snapshot-id' | 'sequence-number'>;

/**
 * Writes manifests of a snapshot, and the list of them and others that stay as they are.
 *
 * @param prefix What the keys begin with.
 * @returns The keys of what was written, that of the list last, and the manifests.
 */
export async function writeManifests(
  store: ObjectStore,
  { 'snapshot-id': snapshotId, 'parent-snapshot-id': parentId, 'sequence-number': sequence }: SnapshotNumbers,
  { written, kept }: { readonly written: readonly ManifestContent[]; readonly kept: readonly WrittenManifest[] },
  { schema, specs }: { readonly schema: TableSchema; readonly specs: readonly PartitionSpec[] },
  prefix: string,
) {
  const keys: string[] = [];
  const upload = async (name: string, bytes: Buffer): Promise<string> => {
    const key = `${prefix}-${snapshotId}-${name}.avro`;
    await writeOnce(store, key, bytes);
    keys.push(key);
    return `${store.root}/${key}`;
  };
  const manifests: WrittenManifest[] = [];
  for (const [index, manifest] of written.entries()) {
    const { specId, partitionType, entries } = manifest;
    const header = {
      schema: JSON.stringify(schema),
      'partition-spec': JSON.stringify(specs.find((each) => each['spec-id'] === specId)?.fields),
      'partition-spec-id': String(specId),
      'format-version': '2',
      content: 'data',
    };
    const bytes = await writeAvro(entryType(partitionType), header, entries);
    const row = rowOf(await upload(`m${index}`, bytes), bytes.length, manifest, snapshotId, sequence);
    manifests.push({ ...manifest, entries: entries.filter((entry) => entry.status !== status.deleted), row });
  }
  manifests.push(...kept);
  const ids = { 'snapshot-id': snapshotId, 'parent-snapshot-id': parentId ?? null, 'sequence-number': sequence, 'format-version': 2 };
  const texts = Object.fromEntries(Object.entries(ids).map(([name, value]) => [name, String(value)]));
  const rows = manifests.map(({ row }) => row);
  await upload('snap', await writeAvro(record('manifest_file', ...manifestFileFields), texts, rows));
  return { keys, manifests: manifests.filter(({ entries }) => entries.length > 0) };
}

function rowOf(
  path: string,
  bytes: number,
  { specId, entries }: Omit<ManifestContent, 'partitionType'>,
  snapshotId: SnapshotId,
  sequence: number,
) {
  const of = (wanted: number) => entries.filter((entry) => entry.status === wanted);
  const [added, existing, deleted] = [of(status.added), of(status.existing), of(status.deleted)];
  return {
    manifest_path: path,
    manifest_length: bytes,
    partition_spec_id: specId,
    content: 0,
    sequence_number: sequence,
    min_sequence_number: existing.reduce((least, entry) => Math.min(least, entry.sequence_number ?? 0), sequence),
    added_snapshot_id: snapshotId,
    added_files_count: added.length,
    existing_files_count: existing.length,
    deleted_files_count: deleted.length,
    added_rows_count: sumOfEntries(added, 'record_count'),
    existing_rows_count: sumOfEntries(existing, 'record_count'),
    deleted_rows_count: sumOfEntries(deleted, 'record_count'),
  };
}

export function sumOfEntries(entries: readonly ManifestEntry[], what: 'record_count' | 'file_size_in_bytes'): number {
  return entries.reduce((sum, { data_file }) => sum + data_file[what], 0);
}

const required = (id: number, name: string, type: unknown) => ({ name, type, 'field-id': id });
export const optional = (id: number, name: string, type: unknown) => ({ ...required(id, name, ['null', type]), default: null });
export const record = (name: string, ...fields: readonly unknown[]) => ({ type: 'record', name, fields }) as const;

/** https://iceberg.apache.org/spec/#manifest-lists, without summaries of partitions, which only spare readers manifests. */
const manifestFileFields = [
  required(500, 'manifest_path', 'string'),
  required(501, 'manifest_length', 'long'),
  required(502, 'partition_spec_id', 'int'),
  required(517, 'content', 'int'),
  required(515, 'sequence_number', 'long'),
  required(516, 'min_sequence_number', 'long'),
  required(503, 'added_snapshot_id', 'long'),
  required(504, 'added_files_count', 'int'),
  required(505, 'existing_files_count', 'int'),
  required(506, 'deleted_files_count', 'int'),
  required(512, 'added_rows_count', 'long'),
  required(513, 'existing_rows_count', 'long'),
  required(514, 'deleted_rows_count', 'long'),
];

function entryType(partitionType: unknown): unknown {
  const map = (keyId: number, valueId: number, value: unknown) => {
    const items = record(`k${keyId}_v${valueId}`, required(keyId, 'key', 'int'), required(valueId, 'value', value));
    return { type: 'array', logicalType: 'map', items } as const;
  };
  const dataFile = record(
    'r2',
    required(134, 'content', 'int'),
    required(100, 'file_path', 'string'),
    required(101, 'file_format', 'string'),
    required(102, 'partition', partitionType),
    required(103, 'record_count', 'long'),
    required(104, 'file_size_in_bytes', 'long'),
    optional(108, 'column_sizes', map(117, 118, 'long')),
    optional(109, 'value_counts', map(119, 120, 'long')),
    optional(110, 'null_value_counts', map(121, 122, 'long')),
    optional(125, 'lower_bounds', map(126, 127, 'bytes')),
    optional(128, 'upper_bounds', map(129, 130, 'bytes')),
    optional(131, 'key_metadata', 'bytes'),
    optional(140, 'sort_order_id', 'int'),
  );
  return record(
    'manifest_entry',
    required(0, 'status', 'int'),
    optional(1, 'snapshot_id', 'long'),
    optional(3, 'sequence_number', 'long'),
    optional(4, 'file_sequence_number', 'long'),
    required(2, 'data_file', dataFile),
  );
}
