import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import { schema, SinkError } from '../../core/index.js';
import type { ObjectStore } from '../../store/index.js';
import { readAvro, writeAvro } from './avro.js';
import type { Snapshot, SnapshotId } from './metadata.js';

const id = schema((z) => z.union([z.number(), z.bigint()]));

/** A number that files of format version 1 lack. */
const orZero = schema((z) =>
  z
    .number()
    .nullish()
    .transform((number) => number ?? 0),
);

const manifestFile = schema((z) =>
  z.looseObject({
    manifest_path: z.string(),
    manifest_length: z.number(),
    partition_spec_id: z.number(),
    content: orZero(),
    sequence_number: orZero(),
    min_sequence_number: orZero(),
    added_snapshot_id: id(),
    added_files_count: z.number(),
    existing_files_count: z.number(),
    deleted_files_count: z.number(),
  }),
);

/** A row of a manifest list: https://iceberg.apache.org/spec/#manifest-lists */
export type ManifestFile = z.output<ReturnType<typeof manifestFile>>;

const manifestEntry = schema((z) =>
  z.object({
    status: z.number(),
    snapshot_id: id().nullish(),
    sequence_number: z.number().nullish(),
    file_sequence_number: z.number().nullish(),
    data_file: z.looseObject({
      content: orZero(),
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

/** What all data files of a manifest have in common. */
export interface ManifestContent {
  /** Metadata of the file: `schema`, `partition-spec` and others. */
  readonly header: Readonly<Record<string, string>>;
  readonly specId: number;
  /** Avro's type of a tuple of the values of the partition fields. */
  readonly partitionType: unknown;
  /** A summary of each partition field. */
  readonly partitions: unknown;
}

/** A manifest that was read. */
export interface Manifest {
  readonly file: ManifestFile;
  readonly content: ManifestContent;
  /** The entries that are not deleted, with the ids and numbers that they inherit. */
  readonly entries: readonly ManifestEntry[];
}

/** Reads the manifests of a snapshot, or of none. @throws {SinkError} `E_SINK_FOREIGN` if it has delete files or others that are not Parquet. */
export async function manifestsOf(store: ObjectStore, snapshot: Snapshot | undefined): Promise<readonly Manifest[]> {
  if (snapshot === undefined) return [];
  const { records } = await readIceberg(store, snapshot['manifest-list']);
  const files = records.map((record) => {
    // The Java library used other names at first.
    const row = record as Readonly<Record<string, unknown>>;
    const counts = ['added', 'existing', 'deleted'].map((kind) => [`${kind}_files_count`, row[`${kind}_data_files_count`]]);
    return manifestFile().parse({ ...Object.fromEntries(counts), ...row });
  });
  const live = files.filter((file) => file.added_files_count + file.existing_files_count > 0);
  const manifests: Manifest[] = [];
  for (let from = 0; from < live.length; from += readsAtOnce) {
    manifests.push(...(await Promise.all(live.slice(from, from + readsAtOnce).map((file) => readManifest(store, file)))));
  }
  return manifests;
}

const readsAtOnce = 8;

async function readManifest(store: ObjectStore, file: ManifestFile): Promise<Manifest> {
  const { schema: type, header, records } = await readIceberg(store, file.manifest_path);
  const all = records.map((record) => manifestEntry().parse(record)).filter((entry) => entry.status !== status.deleted);
  const odd = all.find(({ data_file }) => data_file.content !== 0 || data_file.file_format.toUpperCase() !== 'PARQUET');
  if (odd || file.content !== 0) {
    const kind = odd?.data_file.content === 0 ? `data files that are ${odd.data_file.file_format}` : 'delete files';
    throw new SinkError('E_SINK_FOREIGN', `${store.root} has ${kind}, which leadstream does not read; rewrite its data files first`);
  }
  const entries = all.map((entry) => ({
    ...entry,
    snapshot_id: entry.snapshot_id ?? file.added_snapshot_id,
    sequence_number: entry.sequence_number ?? file.sequence_number,
    file_sequence_number: entry.file_sequence_number ?? file.sequence_number,
  }));
  const { partition_spec_id: specId, partitions } = file;
  return { file, entries, content: { header, specId, partitions, partitionType: memberType(memberType(type, 'data_file'), 'partition') } };
}

function memberType(record: unknown, name: string): unknown {
  const { fields } = recordType().parse(record);
  return fields.find((field) => field.name === name)?.type;
}

const recordType = schema((z) => z.object({ fields: z.array(z.object({ name: z.string(), type: z.unknown() })) }));

async function readIceberg(store: ObjectStore, path: string): ReturnType<typeof readAvro> {
  const found = await store.read(keyOf(store, path));
  if (found === undefined) throw new SinkError('E_SINK_FOREIGN', `${path} is missing, although the table names it`);
  return readAvro(found.bytes).catch((failure: unknown) => {
    throw new SinkError('E_SINK_FOREIGN', `${path} cannot be read`, { cause: failure });
  });
}

/** Returns the key of an object that a table names by its absolute path. */
export function keyOf({ root }: ObjectStore, path: string): string {
  if (!path.startsWith(`${root}/`)) throw new SinkError('E_SINK_FOREIGN', `${path} of the table is outside of ${root}`);
  return path.slice(root.length + 1);
}

/** Writes the manifests and the manifest list of a snapshot. */
export class SnapshotFiles {
  /** Keys of what was written. */
  readonly keys: string[] = [];

  /** @param prefix What the keys begin with. */
  constructor(
    private readonly store: ObjectStore,
    private readonly prefix: string,
    private readonly snapshotId: SnapshotId,
    private readonly sequenceNumber: number,
  ) {}

  async manifest(content: ManifestContent, entries: readonly ManifestEntry[]): Promise<Manifest> {
    const header = { ...content.header, 'partition-spec-id': String(content.specId), 'format-version': '2', content: 'data' };
    const bytes = await writeAvro({ schema: entrySchema(content.partitionType), header, records: entries });
    const [added, existing, deleted] = [status.added, status.existing, status.deleted].map((each) => {
      const files = entries.filter((entry) => entry.status === each);
      return { files: files.length, rows: rowsOf(files) };
    });
    const live = entries.filter((entry) => entry.status !== status.deleted);
    const file = manifestFile().parse({
      manifest_path: await this.#upload(`m${this.keys.length}`, bytes),
      manifest_length: bytes.length,
      partition_spec_id: content.specId,
      content: 0,
      sequence_number: this.sequenceNumber,
      min_sequence_number: live.reduce((least, entry) => Math.min(least, entry.sequence_number ?? least), this.sequenceNumber),
      added_snapshot_id: this.snapshotId,
      added_files_count: added?.files,
      existing_files_count: existing?.files,
      deleted_files_count: deleted?.files,
      added_rows_count: added?.rows,
      existing_rows_count: existing?.rows,
      deleted_rows_count: deleted?.rows,
      partitions: content.partitions,
    });
    const numbers = { sequence_number: this.sequenceNumber, file_sequence_number: this.sequenceNumber };
    return { file, content, entries: live.map((entry) => (entry.status === status.added ? { ...entry, ...numbers } : entry)) };
  }

  /** @returns The location of the list. */
  async list(manifests: readonly Manifest[], parent: SnapshotId | undefined): Promise<string> {
    const header = {
      'snapshot-id': String(this.snapshotId),
      'parent-snapshot-id': String(parent ?? null),
      'sequence-number': String(this.sequenceNumber),
      'format-version': '2',
    };
    return this.#upload('snap', await writeAvro({ schema: listSchema, header, records: manifests.map(({ file }) => file) }));
  }

  async #upload(name: string, content: Buffer): Promise<string> {
    const key = `${this.prefix}-${this.snapshotId}-${name}.avro`;
    const scratch = await mkdtemp(join(tmpdir(), 'leadstream-'));
    try {
      const path = join(scratch, 'file');
      await writeFile(path, content, { mode: 0o600 });
      this.keys.push(key);
      await this.store.upload(key, { path, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') });
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
    return `${this.store.root}/${key}`;
  }
}

export function rowsOf(entries: readonly ManifestEntry[]): number {
  return entries.reduce((sum, { data_file }) => sum + data_file.record_count, 0);
}

const required = (fieldId: number, name: string, type: unknown) => ({ name, type, 'field-id': fieldId });
export const optional = (fieldId: number, name: string, type: unknown) => ({
  name,
  type: ['null', type],
  default: null,
  'field-id': fieldId,
});
const record = (name: string, ...fields: readonly unknown[]) => ({ type: 'record', name, fields });
const list = (elementId: number, items: unknown) => ({ type: 'array', items, 'element-id': elementId });
const map = (keyId: number, valueId: number, value: string) => ({
  type: 'array',
  logicalType: 'map',
  items: record(`k${keyId}_v${valueId}`, required(keyId, 'key', 'int'), required(valueId, 'value', value)),
});

const listSchema = record(
  'manifest_file',
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
  optional(
    507,
    'partitions',
    list(
      508,
      record(
        'r508',
        required(509, 'contains_null', 'boolean'),
        optional(518, 'contains_nan', 'boolean'),
        optional(510, 'lower_bound', 'bytes'),
        optional(511, 'upper_bound', 'bytes'),
      ),
    ),
  ),
  optional(519, 'key_metadata', 'bytes'),
);

function entrySchema(partitionType: unknown): unknown {
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
    optional(137, 'nan_value_counts', map(138, 139, 'long')),
    optional(125, 'lower_bounds', map(126, 127, 'bytes')),
    optional(128, 'upper_bounds', map(129, 130, 'bytes')),
    optional(131, 'key_metadata', 'bytes'),
    optional(132, 'split_offsets', list(133, 'long')),
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
