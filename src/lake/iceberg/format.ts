import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { LeadstreamError, type OutputColumn, SinkError } from '../../core/index.js';
import type { ObjectStore } from '../../store/index.js';
import type { CommittedRun, TableChange, TableFormat, TableVersion } from '../format.js';
import type { Catalog, CatalogTable, Requirement, Update } from './catalog.js';
import { addedContent, dataFileOf, folderOf } from './data-files.js';
import { keyOf, type Manifest, type ManifestEntry, manifestsOf, rowsOf, SnapshotFiles, status } from './manifests.js';
import type { Snapshot, SnapshotId, TableMetadata } from './metadata.js';
import { schemaOf, specOf } from './schema.js';

export interface IcebergState {
  readonly table: CatalogTable;
  /** Those of the current snapshot that have files. */
  readonly manifests: readonly Manifest[];
}

type Version = TableVersion<IcebergState>;

/**
 * A table of Iceberg, format version 2: https://iceberg.apache.org/spec. A run commits one snapshot of the branch `main`, by which others find it: its summary has
 * the run. Keys of its manifests begin with `metadata/<run>-`.
 *
 * @param store The objects below the location of the table.
 */
export function icebergFormat(catalog: Catalog, store: ObjectStore): TableFormat<IcebergState> {
  return new IcebergFormat(catalog, store);
}

/** Returns the id that each column will have as a field of the table, by name. Files of a run have them. */
export function fieldIdsFor(base: Version | undefined, columns: readonly OutputColumn[]): ReadonlyMap<string, number> {
  return new Map(schemaOf(base?.state.table.metadata, columns).fields.map(({ name, id }) => [name, id]));
}

class IcebergFormat implements TableFormat<IcebergState> {
  readonly kind = 'iceberg';

  constructor(
    private readonly catalog: Catalog,
    private readonly store: ObjectStore,
  ) {}

  fieldIds(base: Version | undefined, columns: readonly OutputColumn[]): ReadonlyMap<string, number> {
    return fieldIdsFor(base, columns);
  }

  async load(): Promise<Version | undefined> {
    const table = await this.catalog.load();
    if (table === undefined) return undefined;
    const { metadata } = table;
    const { root } = this.store;
    if (metadata.location.replace(/\/+$/, '') !== root)
      throw new SinkError(
        'E_SINK_FOREIGN',
        `${root} is a copy of ${metadata.location}: paths in a table of Iceberg are absolute, so it cannot be moved`,
      );
    const snapshot = currentOf(metadata);
    if (snapshot !== undefined && metadata.properties?.[writerProperty] === undefined)
      throw new SinkError('E_SINK_FOREIGN', `${root} is a table of another writer, with data that leadstream did not write`);
    return this.#version(table, await manifestsOf(this.store, snapshot));
  }

  async commit(base: Version | undefined, change: TableChange): Promise<Version> {
    const metadata = base?.state.table.metadata;
    const parent = metadata && currentOf(metadata)?.['snapshot-id'];
    const [schema, snapshotId] = [schemaOf(metadata, change.columns), newSnapshotId()];
    const spec = specOf(metadata, schema, change.partitions);
    const sequenceNumber = (metadata?.['last-sequence-number'] ?? 0) + 1;
    const files = new SnapshotFiles(this.store, `metadata/${change.runId}`, snapshotId, sequenceNumber);

    const { manifests, removed } = await this.#without(base?.state.manifests ?? [], change.removed, spec['spec-id'], snapshotId, files);
    if (change.added.length > 0) {
      const entries = change.added.map((file) => {
        return { status: status.added, snapshot_id: snapshotId, data_file: dataFileOf(this.store.root, file, schema, spec) };
      });
      manifests.push(await files.manifest(addedContent(schema, spec, change.added), entries));
    }
    const snapshot: Snapshot = {
      'snapshot-id': snapshotId,
      ...(parent !== undefined && { 'parent-snapshot-id': parent }),
      'sequence-number': sequenceNumber,
      'timestamp-ms': Math.max(Date.now(), (metadata?.['last-updated-ms'] ?? 0) + 1),
      'manifest-list': await files.list(manifests, parent),
      summary: summaryOf(change, manifests, removed),
      'schema-id': schema['schema-id'],
    };
    const table = await this.#commit(
      base?.state.table,
      [
        ...(metadata ? [] : creation(this.store.root)),
        ...schemaUpdates(metadata, schema),
        ...specUpdates(metadata, spec),
        ...(metadata?.properties?.[writerProperty] ? [] : [ownership]),
        { action: 'add-snapshot', snapshot },
        toMain(snapshotId),
      ],
      ({ snapshots = [] }) => snapshots.some((each) => each.summary[runProperty] === change.runId),
    ).catch(async (failure: unknown) => {
      if (failure instanceof LeadstreamError && failure.code === 'E_RUN_LOCKED') await this.store.remove(files.keys).catch(() => undefined);
      throw failure;
    });
    return this.#version(
      table,
      manifests.filter(({ entries }) => entries.length > 0),
    );
  }

  async restore(base: Version, run: string): Promise<Version> {
    const { table } = base.state;
    const target = historyOf(table.metadata).find(({ summary }) => summary[runProperty] === run);
    if (target === undefined) throw new SinkError('E_SINK_RUN', `${this.store.root} has no snapshot of the run ${run}`);
    const { 'snapshot-id': snapshotId, 'schema-id': schemaId = table.metadata['current-schema-id'] } = target;
    const manifests = await manifestsOf(this.store, target);
    const updates: Update[] = [toMain(snapshotId)];
    if (schemaId !== table.metadata['current-schema-id']) updates.unshift({ action: 'set-current-schema', 'schema-id': schemaId });
    const isDone = (metadata: TableMetadata) => currentOf(metadata)?.['snapshot-id'] === snapshotId;
    return this.#version(await this.#commit(table, updates, isDone), manifests);
  }

  async expire(base: Version, keep: number): Promise<readonly string[]> {
    const { table } = base.state;
    const { snapshots = [], statistics = [] } = table.metadata;
    const expired = expiredOf(table.metadata, keep);
    if (expired.length === 0) return [];
    const ids = expired.map((snapshot) => snapshot['snapshot-id']);
    const [obsolete, reached] = [new Set<string>(), new Set<string>()];
    for (const snapshot of snapshots) {
      const keys = ids.includes(snapshot['snapshot-id']) ? obsolete : reached;
      keys.add(keyOf(this.store, snapshot['manifest-list']));
      for (const path of await this.#filesOf(snapshot)) keys.add(keyOf(this.store, path));
    }
    const described = statistics.filter((file) => ids.includes(file['snapshot-id']));
    for (const file of described) obsolete.add(keyOf(this.store, file['statistics-path']));
    const updates: Update[] = described.map((file) => ({ action: 'remove-statistics', 'snapshot-id': file['snapshot-id'] }));
    updates.push({ action: 'remove-snapshots', 'snapshot-ids': ids });
    await this.#commit(table, updates, (metadata) => !metadata.snapshots?.some((snapshot) => ids.includes(snapshot['snapshot-id'])));
    return [...obsolete].filter((key) => !reached.has(key));
  }

  /**
   * Commits updates, and finds out what became of an attempt without a clear answer before it repeats it.
   *
   * @param isDone Whether metadata has the updates.
   */
  async #commit(
    base: CatalogTable | undefined,
    updates: readonly Update[],
    isDone: (metadata: TableMetadata) => boolean,
  ): Promise<CatalogTable> {
    for (let attempts = 1, failure: unknown; ; attempts += 1) {
      const outcome = await this.catalog.commit(base, requirementsOf(base), updates).catch((failure: unknown) => ({ failure }));
      if (outcome !== 'lost' && !('failure' in outcome)) return outcome;
      const found = await this.catalog.load();
      if (found && isDone(found.metadata)) return found;
      if (outcome !== 'lost') ({ failure } = outcome);
      // A catalog may refuse for a moment, too. Then an earlier attempt can still arrive, unless the snapshot that it replaces is no longer current.
      const isOvertaken = found?.sequence !== base?.sequence || idOf(found) !== idOf(base);
      if (isOvertaken || (outcome === 'lost' && failure === undefined))
        throw new LeadstreamError('E_RUN_LOCKED', `${this.store.root} was changed by another writer during the run`);
      if (attempts === maxAttempts) throw failure;
      await delay(100 * 2 ** attempts);
    }
  }

  /**
   * Returns manifests without some files, which are entries of status DELETED in those that had them. A manifest of another spec with nothing else is left out:
   * DuckDB 1.5 fails on snapshots with manifests of several specs, and it is no longer part of the table.
   */
  async #without(manifests: readonly Manifest[], names: readonly string[], specId: number, snapshotId: SnapshotId, files: SnapshotFiles) {
    const paths = new Set(names.map((name) => `${this.store.root}/${name}`));
    const left: Manifest[] = [];
    const removed: ManifestEntry[] = [];
    for (const manifest of manifests) {
      const gone = manifest.entries.filter((entry) => paths.has(entry.data_file.file_path));
      removed.push(...gone);
      if (gone.length === 0) left.push(manifest);
      else if (gone.length < manifest.entries.length || manifest.content.specId === specId) {
        const entries = manifest.entries.map((entry) =>
          paths.has(entry.data_file.file_path)
            ? { ...entry, status: status.deleted, snapshot_id: snapshotId }
            : { ...entry, status: status.existing },
        );
        left.push(await files.manifest(manifest.content, entries));
      }
    }
    if (removed.length < paths.size) throw new Error(`${paths.size - removed.length} removed files are not in the table`);
    return { manifests: left, removed };
  }

  /** Returns the paths of the manifests and data files of a snapshot. */
  async #filesOf(snapshot: Snapshot): Promise<readonly string[]> {
    const manifests = await manifestsOf(this.store, snapshot);
    return manifests.flatMap(({ file, entries }) => [file.manifest_path, ...entries.map(({ data_file }) => data_file.file_path)]);
  }

  #version(table: CatalogTable, manifests: readonly Manifest[]): Version {
    const { metadata } = table;
    const [history, ancestors] = [historyOf(metadata), ancestorsOf(metadata)];
    const current = history.find((snapshot) => ancestors.includes(snapshot));
    const files = manifests.flatMap(({ content, entries }) =>
      entries.map(({ data_file: file }) => {
        const [name, folder] = [keyOf(this.store, file.file_path), folderOf(metadata, content.specId, file)];
        return { name, rows: file.record_count, bytes: file.file_size_in_bytes, ...(folder !== undefined && { folder }) };
      }),
    );
    return {
      sequence: table.sequence,
      current: current && runOf(current),
      kept: history.filter((snapshot) => snapshot !== current).map(runOf),
      files,
      runs: history.map((snapshot) => runOf(snapshot).run),
      state: { table, manifests },
    };
  }
}

const maxAttempts = 4;

/** Marks tables that leadstream may change. */
const writerProperty = 'leadstream.writer';

const ownership: Update = { action: 'set-properties', updates: { [writerProperty]: 'leadstream' } };

/** Members of the summary of a snapshot. */
const runProperty = 'leadstream.run';
const manifestProperty = 'leadstream.manifest-sha256';

/** Row counts beyond this stay in the manifest of the run. */
const maxBooks = 4096;

/** Random, and below 2^53, so that programs which read JSON as most do keep it. */
function newSnapshotId(): number {
  return randomInt(1, 2 ** 48 - 1);
}

function idOf(table: CatalogTable | undefined): SnapshotId | undefined {
  return table && currentOf(table.metadata)?.['snapshot-id'];
}

function currentOf({ snapshots = [], refs, 'current-snapshot-id': id }: TableMetadata): Snapshot | undefined {
  const current = refs?.main?.['snapshot-id'] ?? id;
  return snapshots.find((snapshot) => snapshot['snapshot-id'] === current);
}

/** Returns a snapshot and those it follows, the newest first. */
function ancestorsOf(metadata: TableMetadata, from = currentOf(metadata)): readonly Snapshot[] {
  const ancestors: Snapshot[] = [];
  for (let next = from; next !== undefined;) {
    ancestors.push(next);
    const parent = next['parent-snapshot-id'];
    next = metadata.snapshots?.find((snapshot) => snapshot['snapshot-id'] === parent);
  }
  return ancestors;
}

/** Returns the snapshots of our runs: those before the current one, the newest first, then those that it does not follow, as after a rollback. */
function historyOf(metadata: TableMetadata): readonly Snapshot[] {
  const ancestors = ancestorsOf(metadata);
  const others = (metadata.snapshots ?? []).filter((snapshot) => !ancestors.includes(snapshot));
  others.sort((one, other) => other['sequence-number'] - one['sequence-number']);
  return [...ancestors, ...others].filter(({ summary }) => summary[runProperty] !== undefined);
}

function runOf({ summary }: Snapshot): CommittedRun {
  return { run: String(summary[runProperty]), sha256: String(summary[manifestProperty]) };
}

/** Returns what `main` followed and earlier runs of ours, except for the newest runs and what a branch or tag refers to. Others may have staged the rest. */
function expiredOf(metadata: TableMetadata, keep: number): readonly Snapshot[] {
  const { snapshots = [], refs = {} } = metadata;
  const [ancestors, history] = [ancestorsOf(metadata), historyOf(metadata)];
  const current = history.find((snapshot) => ancestors.includes(snapshot));
  const earlier = history.filter((snapshot) => snapshot !== current);
  const referred = Object.values(refs).flatMap((ref) => {
    const head = snapshots.find((snapshot) => snapshot['snapshot-id'] === ref['snapshot-id']);
    return head ? ancestorsOf(metadata, head).slice(0, ref['min-snapshots-to-keep'] ?? 1) : [];
  });
  const retained = new Set([current, currentOf(metadata), ...earlier.slice(0, keep), ...referred]);
  return snapshots.filter((snapshot) => !retained.has(snapshot) && (ancestors.includes(snapshot) || history.includes(snapshot)));
}

/** Whatever another writer changed since, snapshots, schema or partitioning, is a conflict. */
function requirementsOf(base: CatalogTable | undefined): readonly Requirement[] {
  if (base === undefined) return [{ type: 'assert-create' }];
  const { metadata } = base;
  const branches = Object.entries({ main: undefined, ...metadata.refs });
  return [
    { type: 'assert-table-uuid', uuid: metadata['table-uuid'] },
    ...branches.map(([ref, found]) => ({ type: 'assert-ref-snapshot-id', ref, 'snapshot-id': found?.['snapshot-id'] ?? null }) as const),
    { type: 'assert-current-schema-id', 'current-schema-id': metadata['current-schema-id'] },
    { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': metadata['last-column-id'] },
    { type: 'assert-default-spec-id', 'default-spec-id': metadata['default-spec-id'] },
    { type: 'assert-last-assigned-partition-id', 'last-assigned-partition-id': metadata['last-partition-id'] },
  ];
}

function creation(location: string): readonly Update[] {
  return [
    { action: 'assign-uuid', uuid: randomUUID() },
    { action: 'upgrade-format-version', 'format-version': 2 },
    { action: 'set-location', location },
    { action: 'add-sort-order', 'sort-order': { 'order-id': 0, fields: [] } },
    { action: 'set-default-sort-order', 'sort-order-id': -1 },
  ];
}

function schemaUpdates(metadata: TableMetadata | undefined, schema: TableMetadata['schemas'][number]): readonly Update[] {
  const id = schema['schema-id'];
  if (metadata?.['current-schema-id'] === id) return [];
  if (metadata?.schemas.includes(schema)) return [{ action: 'set-current-schema', 'schema-id': id }];
  const lastId = Math.max(metadata?.['last-column-id'] ?? 0, ...schema.fields.map((field) => field.id));
  return [
    { action: 'add-schema', schema, 'last-column-id': lastId },
    { action: 'set-current-schema', 'schema-id': -1 },
  ];
}

function specUpdates(metadata: TableMetadata | undefined, spec: TableMetadata['partition-specs'][number]): readonly Update[] {
  const id = spec['spec-id'];
  if (metadata?.['default-spec-id'] === id) return [];
  if (metadata?.['partition-specs'].includes(spec)) return [{ action: 'set-default-spec', 'spec-id': id }];
  return [
    { action: 'add-spec', spec },
    { action: 'set-default-spec', 'spec-id': -1 },
  ];
}

function toMain(snapshotId: SnapshotId): Update {
  return { action: 'set-snapshot-ref', 'ref-name': 'main', 'snapshot-id': snapshotId, type: 'branch' };
}

/** https://iceberg.apache.org/spec/#optional-snapshot-summary-fields */
function summaryOf(
  { runId, sha256, manifest, added }: TableChange,
  manifests: readonly Manifest[],
  removed: readonly ManifestEntry[],
): Snapshot['summary'] {
  const live = manifests.flatMap(({ entries }) => entries);
  const sizeOf = (entries: readonly ManifestEntry[]) => entries.reduce((sum, { data_file }) => sum + data_file.file_size_in_bytes, 0);
  const counts = {
    'added-data-files': added.length,
    'added-records': added.reduce((sum, { rows }) => sum + rows, 0),
    'added-files-size': added.reduce((sum, { bytes }) => sum + bytes, 0),
    'deleted-data-files': removed.length,
    'deleted-records': rowsOf(removed),
    'removed-files-size': sizeOf(removed),
    'total-data-files': live.length,
    'total-records': rowsOf(live),
    'total-files-size': sizeOf(live),
    'total-delete-files': 0,
    'total-position-deletes': 0,
    'total-equality-deletes': 0,
  };
  const books = JSON.stringify(manifest.books);
  return {
    operation: removed.length === 0 ? 'append' : 'overwrite',
    ...Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, String(count)])),
    [runProperty]: runId,
    [manifestProperty]: sha256,
    'leadstream.consistency': manifest.consistency,
    ...(books.length <= maxBooks && { 'leadstream.books': books }),
  };
}
