import { randomInt, randomUUID } from 'node:crypto';
import { type OutputColumn, SinkError } from '../../core/index.js';
import { decided, isLocked, lostTo, type ObjectStore } from '../../store/index.js';
import type { CommittedRun, FieldIds, PartitionField, TableChange, TableFormat, TableVersion } from '../format.js';
import { inGroups } from '../in-groups.js';
import type { Manifest } from '../manifest.js';
import { keysBelow, manifestAt, prefixesOf } from '../store-table.js';
import type { Catalog, CatalogTable, Update } from './catalog.js';
import { dataFileOf, partitionFolder, partitionTypeOf } from './data-files.js';
import { type ManifestContent, type ManifestEntry, type SnapshotNumbers, status, sumOfEntries, type WrittenManifest } from './manifests.js';
import { objectKeyOf, readManifest, readManifestList, readManifests, writeManifests } from './manifests.js';
import { currentOf, type PartitionSpec, type TableSchema, type Snapshot, type SnapshotId, type TableMetadata } from './metadata.js';
import type { NestedField } from './metadata.js';
import { changesOf, checkPartitions, partitionsOf, restoredSchema, evolvedSchema, specOf } from './schema.js';

export interface IcebergState {
  readonly table: CatalogTable;
  readonly manifests: readonly WrittenManifest[];
  /** The manifest of the current run. */
  readonly before: Manifest | undefined;
}

type Version = TableVersion<IcebergState>;

/**
 * A table of Iceberg, format version 2: https://iceberg.apache.org/spec. A run commits one snapshot of the branch `main` with the run in its summary. Keys of its
 * manifests begin with `metadata/<run>-`.
 */
export class IcebergFormat implements TableFormat<IcebergState> {
  readonly kind = 'iceberg';

  constructor(
    private readonly catalog: Catalog,
    /** The objects below the location of the table. */
    private readonly store: ObjectStore,
  ) {}

  checkColumns(base: Version | undefined, columns: readonly OutputColumn[], partitions: readonly PartitionField[]): FieldIds {
    const { table, before } = base?.state ?? {};
    if (table) checkPartitions(table.metadata, before, partitions);
    return new Map(evolvedSchema(table?.metadata, before, columns).fields.map(({ name, id }) => [name, id]));
  }

  check({ state: { table, manifests, before } }: Version, mode: Manifest['mode']): void {
    const { metadata } = table;
    const changes = before ? changesOf(metadata, historyOf(metadata).current, before) : [];
    const remedy = 'change that back, or return to an earlier run with leadstream rollback';
    if (changes.length > 0)
      throw new SinkError('E_SINK_FOREIGN', `${this.store.root} was changed by another program: ${changes.join('; ')}; ${remedy}`);
    if (mode === 'replace') return;
    if (before) checkPartitions(metadata, undefined, partitionsOf(before));
    const other = manifests.find(({ specId }) => specId !== metadata['default-spec-id']);
    if (other)
      throw new SinkError('E_SINK_FOREIGN', `${this.store.root} has data files with other partitions than the table; rewrite them`);
  }

  async load(): Promise<Version | undefined> {
    const table = await this.catalog.load();
    if (table === undefined) return undefined;
    const { location, properties } = table.metadata;
    const { root } = this.store;
    if (location.replace(/\/+$/, '') !== root)
      throw new SinkError('E_SINK_FOREIGN', `${root} is a copy of ${location}; paths in Iceberg are absolute, so tables cannot be moved`);
    const snapshot = currentOf(table.metadata);
    if (snapshot !== undefined && properties?.[writerProperty] === undefined)
      throw new SinkError('E_SINK_FOREIGN', `${root} is a table of another writer, with data that leadstream did not write`);
    const { current } = historyOf(table.metadata);
    return this.#version(
      table,
      snapshot ? await this.#readable(snapshot) : [],
      current && (await manifestAt(this.store, runOf(current).run)),
    );
  }

  async commit(base: Version | undefined, change: TableChange): Promise<Version> {
    const { root } = this.store;
    const metadata = base?.state.table.metadata;
    const schema = evolvedSchema(metadata, base?.state.before, change.columns);
    refuseNulls(root, schema, change);
    const spec = specOf(metadata, schema, change.partitions);
    const parent = metadata && currentOf(metadata)?.['snapshot-id'];
    // Below 2^53, so that programs which read JSON as most do keep it.
    const numbers = { 'snapshot-id': randomInt(1, 2 ** 48 - 1), 'sequence-number': (metadata?.['last-sequence-number'] ?? 0) + 1 };
    const { files, ...all } = changed(root, base?.state.manifests ?? [], change, schema, spec, numbers);
    const unlisted = {
      ...numbers,
      ...(parent !== undefined && { 'parent-snapshot-id': parent }),
      'timestamp-ms': Math.max(Date.now(), (metadata?.['last-updated-ms'] ?? 0) + 1),
      summary: summaryOf(change, files),
      'schema-id': schema['schema-id'],
    };
    const specs = [...(metadata?.['partition-specs'] ?? []), spec];
    const { keys, manifests } = await writeManifests(this.store, unlisted, all, { schema, specs }, `metadata/${change.runId}`);
    const snapshot = { ...unlisted, 'manifest-list': `${root}/${keys.at(-1)}` };
    const updates: readonly Update[] = [
      ...preparation(metadata, root, schema, spec),
      { action: 'add-snapshot', snapshot },
      ...toMain(metadata, snapshot, numbers['sequence-number']),
    ];
    const isDone = ({ snapshots = [] }: TableMetadata) => snapshots.some(({ summary }) => summary[runProperty] === change.runId);
    const table = await this.#commit(base?.state.table, updates, isDone).catch(async (failure: unknown) => {
      if (isLocked(failure)) await this.store.remove(keys).catch(() => undefined);
      throw failure;
    });
    return this.#version(table, manifests, change.manifest);
  }

  async restore({ state: { table, before } }: Version, run: string): Promise<Version> {
    const { metadata } = table;
    const target = historyOf(metadata).earlier.find(({ summary }) => summary[runProperty] === run);
    const manifest = await manifestAt(this.store, run);
    if (target === undefined || manifest === undefined)
      throw new SinkError('E_SINK_RUN', `${this.store.root} has no snapshot and manifest of the run ${run}`);
    const manifests = await this.#readable(target);
    const { 'snapshot-id': id } = target;
    const schema = restoredSchema(metadata, before, target);
    const spec = specOf(metadata, schema, partitionsOf(manifest));
    const updates = [
      ...preparation(metadata, this.store.root, schema, spec),
      ...toMain(metadata, target, metadata['last-sequence-number']),
    ];
    return this.#version(await this.#commit(table, updates, (found) => found['current-snapshot-id'] === id), manifests, manifest);
  }

  /** What `dropped` runs wrote is left if a process was killed after this commit. */
  async expire({ state: { table: base } }: Version, keep: number, dropped: readonly string[]): Promise<readonly string[]> {
    const left = await keysBelow(this.store, dropped.flatMap(prefixesOf));
    if (left.length === 0 && expiredOf(base.metadata, keep).length === 0) return [];
    const [named, filesOf] = [new Map<SnapshotId, readonly string[]>(), new Map<string, readonly string[]>()];
    const read = async ({ metadata: { snapshots = [], statistics = [] } }: CatalogTable) => {
      for (const snapshot of snapshots) {
        const id = snapshot['snapshot-id'];
        if (named.has(id)) continue;
        const rows = await readManifestList(this.store, snapshot);
        const unread = rows.filter((row) => !filesOf.has(row.manifest_path));
        for await (const { row, entries } of inGroups(unread, (each) => readManifest(this.store, each))) {
          const files = entries.map(({ data_file }) => data_file.file_path);
          filesOf.set(
            row.manifest_path,
            [row.manifest_path, ...files].map((path) => objectKeyOf(this.store, path)),
          );
        }
        const others = statistics.filter((file) => file['snapshot-id'] === id).map((file) => file['statistics-path']);
        const keys = [snapshot['manifest-list'], ...others].map((path) => objectKeyOf(this.store, path));
        named.set(id, [...keys, ...rows.flatMap((row) => filesOf.get(row.manifest_path) ?? [])]);
      }
    };
    await read(base);
    // That took a while, in which others may have made branches and tags, which no requirement protects.
    const table = await this.catalog.load();
    if (table === undefined) return [];
    const ids = expiredOf(table.metadata, keep).map((snapshot) => snapshot['snapshot-id']);
    const isDone = (metadata: TableMetadata) => !metadata.snapshots?.some((snapshot) => ids.includes(snapshot['snapshot-id']));
    const after = ids.length === 0 ? table : await this.#commit(table, [{ action: 'remove-snapshots', 'snapshot-ids': ids }], isDone);
    await read(after);
    const { snapshots = [], refs = {} } = after.metadata;
    const stay = new Set([...snapshots, ...Object.values(refs)].map((each) => each['snapshot-id']));
    const reached = new Set([...stay].flatMap((id) => named.get(id) ?? []));
    const obsolete = [...left, ...ids.flatMap((id) => named.get(id) ?? [])];
    return [...new Set(obsolete)].filter((key) => !reached.has(key));
  }

  /** Returns the files of a snapshot, none of which needs more than a reader of Parquet. */
  async #readable(snapshot: Snapshot): Promise<readonly WrittenManifest[]> {
    const manifests = await readManifests(this.store, snapshot);
    for (const { data_file: file } of manifests.flatMap(({ entries }) => entries)) {
      if (file.content === 0 && file.file_format.toUpperCase() === 'PARQUET') continue;
      const kind = file.content === 0 ? `data files that are ${file.file_format}` : 'delete files';
      throw new SinkError('E_SINK_FOREIGN', `${this.store.root} has ${kind}, which leadstream does not read; rewrite its data files first`);
    }
    return manifests;
  }

  /**
   * Commits updates, and finds out what became of an attempt without a clear answer before it repeats it.
   *
   * @param isDone Whether metadata has the updates.
   */
  async #commit(base: CatalogTable | undefined, updates: readonly Update[], isDone: (metadata: TableMetadata) => boolean) {
    const lost = lostTo(this.store.root);
    const write = async () => {
      const outcome = await this.catalog.commit(base, updates);
      if (outcome === 'lost') throw lost;
      return outcome;
    };
    return decided(this.store, `the next version of ${this.store.root}`, write, async (failure) => {
      const found = await this.catalog.load();
      if (found && isDone(found.metadata)) return found;
      // A catalog may refuse for a moment, too. Then an earlier attempt can still arrive, unless the snapshot that it replaces is no longer current.
      const isOvertaken =
        found?.sequence !== base?.sequence || found?.metadata['current-snapshot-id'] !== base?.metadata['current-snapshot-id'];
      if (isOvertaken || failure === lost) throw lost;
      return 'no trace';
    });
  }

  #version(table: CatalogTable, manifests: readonly WrittenManifest[], before: Manifest | undefined): Version {
    const { current, earlier } = historyOf(table.metadata);
    const files = manifests.flatMap(({ specId, entries }) =>
      entries.map(({ data_file: file }) => {
        const [name, folder] = [objectKeyOf(this.store, file.file_path), partitionFolder(table.metadata, specId, file)];
        return { name, rows: file.record_count, bytes: file.file_size_in_bytes, ...(folder !== undefined && { folder }) };
      }),
    );
    const kept = earlier.map(runOf);
    const runs = [...(current ? [runOf(current)] : []), ...kept].map(({ run }) => run);
    return {
      sequence: table.sequence,
      current: current && runOf(current),
      kept,
      files,
      metadata: table.path,
      runs,
      state: { table, manifests, before },
    };
  }
}

/** Marks tables that leadstream may change. */
const writerProperty = 'leadstream.writer';

/** Members of the summary of a snapshot. */
const runProperty = 'leadstream.run';
const manifestProperty = 'leadstream.manifest-sha256';

/** Of a table, which has those of its last run, too: the schema of the run, and the sequence number of its commit. */
const schemaProperty = 'leadstream.schema-id';
const sequenceProperty = 'leadstream.sequence-number';

/** Row counts beyond this stay in the manifest of the run. */
const maxBooks = 4096;

function runOf({ summary }: Pick<Snapshot, 'summary'>): CommittedRun {
  return { run: String(summary[runProperty]), sha256: String(summary[manifestProperty]) };
}

/** Returns the current snapshot and those it follows, and our runs: first those among them, the newest first, then others, as after a rollback. */
function historyOf(metadata: TableMetadata) {
  const { snapshots = [] } = metadata;
  const ancestors: Snapshot[] = [];
  for (let next = currentOf(metadata); next !== undefined;) {
    ancestors.push(next);
    const { 'parent-snapshot-id': parent } = next;
    next = snapshots.find((snapshot) => snapshot['snapshot-id'] === parent);
  }
  const others = snapshots.filter((snapshot) => !ancestors.includes(snapshot));
  others.sort((one, other) => other['sequence-number'] - one['sequence-number']);
  const isOurs = ({ summary }: Snapshot) => summary[runProperty] !== undefined;
  const current = ancestors.find(isOurs) ?? expiredRun(metadata, ancestors);
  return { ancestors, current, earlier: [...ancestors, ...others].filter((snapshot) => isOurs(snapshot) && snapshot !== current) };
}

/** Returns the last run, if others have expired its snapshot after they followed it by theirs, and its columns are as it left them. */
function expiredRun(metadata: TableMetadata, ancestors: readonly Snapshot[]) {
  const { properties = {}, schemas, 'current-schema-id': currentId } = metadata;
  const { [runProperty]: run, [schemaProperty]: schemaId, [sequenceProperty]: sequence } = properties;
  if (run === undefined || !ancestors.every((snapshot) => snapshot['sequence-number'] > Number(sequence))) return undefined;
  const fieldsOf = (id: number) => schemas.find((schema) => schema['schema-id'] === id)?.fields;
  const textOf = ({ id, name, type }: NestedField) => JSON.stringify([id, name, type]);
  const now = fieldsOf(currentId)?.map(textOf);
  const isSame = fieldsOf(Number(schemaId))?.every((field) => now?.includes(textOf(field)));
  return isSame ? { summary: properties, 'schema-id': Number(schemaId) } : undefined;
}

/** Returns what `main` followed, and earlier runs of ours beyond `keep`, except for what a branch or tag refers to. Others may have staged the rest. */
function expiredOf(metadata: TableMetadata, keep: number): readonly Snapshot[] {
  const { ancestors, current, earlier } = historyOf(metadata);
  const referred = Object.values(metadata.refs ?? {}).map((ref) => ref['snapshot-id']);
  const kept = [current, ...earlier.slice(0, keep)];
  const isExpired = (snapshot: Snapshot) => !kept.includes(snapshot) && !referred.includes(snapshot['snapshot-id']);
  return [...new Set([...ancestors, ...earlier])].filter(isExpired);
}

/** What has to be there before the snapshot. */
function preparation(metadata: TableMetadata | undefined, location: string, schema: TableSchema, spec: PartitionSpec): readonly Update[] {
  const { schemas = [], 'partition-specs': specs = [], 'last-column-id': lastId = 0 } = metadata ?? {};
  const [schemaId, specId] = [schema['schema-id'], spec['spec-id']];
  const updates: (Update | false)[] = [
    metadata === undefined && { action: 'assign-uuid', uuid: randomUUID() },
    metadata === undefined && { action: 'upgrade-format-version', 'format-version': 2 },
    metadata === undefined && { action: 'set-location', location },
    !schemas.includes(schema) && { action: 'add-schema', schema, 'last-column-id': Math.max(lastId, ...schema.fields.map(({ id }) => id)) },
    metadata?.['current-schema-id'] !== schemaId && { action: 'set-current-schema', 'schema-id': schemaId },
    !specs.includes(spec) && { action: 'add-spec', spec },
    metadata?.['default-spec-id'] !== specId && { action: 'set-default-spec', 'spec-id': specId },
    metadata === undefined && { action: 'add-sort-order', 'sort-order': { 'order-id': 0, fields: [] } },
    metadata === undefined && { action: 'set-default-sort-order', 'sort-order-id': 0 },
  ];
  return updates.filter((update) => update !== false);
}

/** Makes a snapshot the current one. The first update replaces the reference with its retention; the properties stay if others expire the snapshot. */
function toMain(metadata: TableMetadata | undefined, snapshot: Snapshot, sequence: number): readonly Update[] {
  const { 'snapshot-id': id, 'schema-id': schemaId } = snapshot;
  const { run, sha256 } = runOf(snapshot);
  const properties = {
    [writerProperty]: 'leadstream',
    [runProperty]: run,
    [manifestProperty]: sha256,
    [schemaProperty]: String(schemaId),
    [sequenceProperty]: String(sequence),
  };
  return [
    { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', ...metadata?.refs?.['main'], 'snapshot-id': id },
    { action: 'set-properties', updates: properties },
  ];
}

/** @throws {SinkError} `E_SINK_VALUE` if a run has no value where another program requires one. */
function refuseNulls(root: string, { fields }: TableSchema, { added }: TableChange): void {
  const hasNulls = (name: string) => added.some(({ statistics, rows }) => (statistics.get(name)?.nulls ?? rows) > 0);
  const wrong = fields.find(({ name, required }) => required && hasNulls(name));
  if (wrong)
    throw new SinkError('E_SINK_VALUE', `${root} requires values of ${wrong.name}, by another program, and this run has rows without`);
}

/**
 * Returns the manifests of a snapshot that changes another one: those to be written, and those that stay as they are. Removed files are entries of
 * status DELETED in a manifest of their own, which the next snapshot does not have. There is none if a change of the partitioning leaves nothing
 * else of their spec: DuckDB 1.5 fails on snapshots with several specs.
 */
function changed(
  location: string,
  before: readonly WrittenManifest[],
  change: TableChange,
  schema: TableSchema,
  spec: PartitionSpec,
  { 'snapshot-id': id, 'sequence-number': number }: SnapshotNumbers,
) {
  const removed = new Set(change.removed.map((name) => `${location}/${name}`));
  const isRemoved = ({ data_file }: ManifestEntry) => removed.has(data_file.file_path);
  const touched = before.filter(({ entries }) => entries.some(isRemoved));
  const merged = manySmall(before.filter((manifest) => !touched.includes(manifest)));
  // Who removes what a killed run left knows other runs by their data files, so that a manifest has to have one of its run.
  const rewritten = [...touched, ...(change.added.length > 0 ? merged : [])];
  const kept = before.filter((manifest) => !rewritten.includes(manifest));
  const numbers = { status: status.added, snapshot_id: id, sequence_number: number, file_sequence_number: number };
  const added = change.added.map((file) => ({ ...numbers, data_file: dataFileOf(location, file, schema, spec) }));
  const existing = selected(rewritten, (entry) => !isRemoved(entry), { status: status.existing });
  const live = joined([...existing, { specId: spec['spec-id'], partitionType: partitionTypeOf(schema, spec), entries: added }]);
  const gone = joined(selected(rewritten, isRemoved, { status: status.deleted, snapshot_id: id }));
  const deleted = gone.flatMap(({ entries }) => entries);
  if (deleted.length < removed.size) throw new Error(`${removed.size - deleted.length} removed files are not in the table`);
  const specs = [spec['spec-id'], ...[...live, ...kept].map(({ specId }) => specId)];
  const total = [...live, ...kept].flatMap(({ entries }) => entries);
  return { written: [...live, ...gone.filter(({ specId }) => specs.includes(specId))], kept, files: { added, deleted, total } };
}

/** The defaults of `commit.manifest.min-count-to-merge` and `commit.manifest.target-size-bytes`. */
const [minToMerge, targetBytes] = [100, 8 * 1024 * 1024];

/** Returns small manifests in the place of which one comes, if there are many. */
function manySmall(manifests: readonly WrittenManifest[]): readonly WrittenManifest[] {
  const small = manifests.filter(({ row }) => row.manifest_length < targetBytes / 2);
  let bytes = 0;
  return small.length < minToMerge ? [] : small.filter(({ row }) => (bytes += row.manifest_length) <= targetBytes);
}

function selected(manifests: readonly ManifestContent[], isMeant: (entry: ManifestEntry) => boolean, given: Partial<ManifestEntry>) {
  return manifests.map((each) => ({ ...each, entries: each.entries.filter(isMeant).map((entry) => ({ ...entry, ...given })) }));
}

/** Returns one manifest for all that can be in one. */
function joined(contents: readonly ManifestContent[]): readonly ManifestContent[] {
  const kindOf = ({ specId, partitionType }: ManifestContent) => JSON.stringify([specId, partitionType]);
  const byKind = new Map<string, ManifestContent[]>();
  for (const each of contents) if (each.entries.length > 0) byKind.set(kindOf(each), [...(byKind.get(kindOf(each)) ?? []), each]);
  return [...byKind.values()].flatMap((same) =>
    same.slice(0, 1).map((one) => ({ ...one, entries: same.flatMap(({ entries }) => entries) })),
  );
}

/** https://iceberg.apache.org/spec/#optional-snapshot-summary-fields */
function summaryOf(
  { runId, sha256, manifest }: TableChange,
  files: Readonly<Record<'added' | 'deleted' | 'total', readonly ManifestEntry[]>>,
) {
  const counts = Object.entries(files).flatMap(([kind, entries]) => [
    [`${kind}-data-files`, String(entries.length)] as const,
    [`${kind}-records`, String(sumOfEntries(entries, 'record_count'))] as const,
    [`${kind === 'deleted' ? 'removed' : kind}-files-size`, String(sumOfEntries(entries, 'file_size_in_bytes'))] as const,
  ]);
  const books = JSON.stringify(manifest.books);
  return {
    operation: manifest.compacted ? 'replace' : files.deleted.length === 0 ? 'append' : 'overwrite',
    ...Object.fromEntries(counts),
    [runProperty]: runId,
    [manifestProperty]: sha256,
    'leadstream.consistency': manifest.consistency,
    ...(books.length <= maxBooks && { 'leadstream.books': books }),
  };
}
