import { SinkError } from '../../core/index.js';
import { parseExact, stringifyExact } from '../../json/index.js';
import { type ObjectStore, writeOnce } from '../../store/index.js';
import { keysBelow } from '../store-table.js';
import type { Catalog, Update } from './catalog.js';
import { tableMetadata, type TableMetadata } from './metadata.js';
import { firstPartitionId } from './schema.js';

/**
 * The catalog of a table that has its metadata next to its data, as `metadata/v1.metadata.json`, `v2` and so on; whoever creates the next one has committed
 * (https://iceberg.apache.org/spec/#file-system-tables). leadstream is the only writer: others replace files instead of creating them.
 */
export function fileCatalog(store: ObjectStore): Catalog {
  const pathOf = (version: number) => `${store.root}/${metadataKey(version)}`;
  let versions: readonly number[] = [];
  return {
    load: async () => {
      versions = await versionsIn(store);
      const version = versions.reduce((newest, each) => Math.max(newest, each), 0);
      if (version === 0) return undefined;
      const found = await store.read(metadataKey(version));
      const metadata = tableMetadata(parseExact(found?.bytes ?? Buffer.of()), pathOf(version));
      if (metadata.properties?.[versionProperty] !== String(version)) throw foreign(store, metadataKey(version));
      await writeHint(store, version);
      return { sequence: version, metadata, path: pathOf(version) };
    },
    commit: async (base, updates) => {
      const version = (base?.sequence ?? 0) + 1;
      const metadata = updated(base?.metadata, [...updates, { action: 'set-properties', updates: { [versionProperty]: String(version) } }]);
      const previous = base ? [{ 'metadata-file': pathOf(base.sequence), 'timestamp-ms': base.metadata['last-updated-ms'] }] : [];
      const written = { ...metadata, 'metadata-log': [...(metadata['metadata-log'] ?? []), ...previous].slice(-maxPreviousVersions) };
      if ((await writeOnce(store, metadataKey(version), stringifyExact(written))) === undefined) return 'lost';
      await writeHint(store, version);
      const obsolete = versions.filter((each) => each < version - maxPreviousVersions);
      await store.remove(obsolete.map(metadataKey)).catch(() => undefined);
      return { sequence: version, metadata: written, path: pathOf(version) };
    },
  };
}

/** Has the number of the version, so that metadata by other writers, which keep properties, is recognized. */
const versionProperty = 'leadstream.metadata-version';

/** Names the newest version for readers without a catalog. It may be behind for a moment, and after a crash until the next run. */
const hintKey = 'metadata/version-hint.text';

/** The default of `write.metadata.previous-versions-max`: the log has so many, and files of earlier ones are removed. */
const maxPreviousVersions = 100;

function metadataKey(version: number): string {
  return `metadata/v${version}.metadata.json`;
}

/** Other programs name metadata as we do, or by five digits and a UUID; manifests, of which there may be many, are not listed. */
async function versionsIn(store: ObjectStore): Promise<readonly number[]> {
  const keys = (await keysBelow(store, ['metadata/v', 'metadata/0'])).filter((key) => /\.metadata\.json(\.gz)?$/.test(key));
  return keys.map((key) => {
    const version = Number(/^metadata\/v(\d+)\.metadata\.json$/.exec(key)?.[1]);
    if (Number.isNaN(version)) throw foreign(store, key);
    return version;
  });
}

function foreign({ root }: ObjectStore, key: string): SinkError {
  return new SinkError('E_SINK_FOREIGN', `${root}/${key} was written by another program; tables with several writers need a REST catalog`);
}

/** The commit is done, whether the hint can be written or not. One that arrives late replaces another one than it has read, and is refused. */
async function writeHint(store: ObjectStore, version: number): Promise<void> {
  const write = async () => {
    const found = await store.read(hintKey);
    if (found === undefined) await store.create(hintKey, String(version));
    else if (!(Number(found.bytes) >= version)) await store.replace(hintKey, String(version), found.version);
  };
  await write().catch(() => undefined);
}

/** Applies the updates of a commit to table metadata, or creates it. */
export function updated(base: TableMetadata = emptyMetadata, updates: readonly Update[]): TableMetadata {
  const now = Math.max(Date.now(), base['last-updated-ms'] + 1);
  return updates.reduce(withUpdate, { ...base, 'last-updated-ms': now });
}

const emptyMetadata: TableMetadata = {
  'format-version': 2,
  'table-uuid': '',
  location: '',
  'last-sequence-number': 0,
  'last-updated-ms': 0,
  'last-column-id': 0,
  schemas: [],
  'current-schema-id': 0,
  'partition-specs': [],
  'default-spec-id': 0,
  'last-partition-id': firstPartitionId - 1,
  'sort-orders': [],
  'default-sort-order-id': 0,
};

function withUpdate(metadata: TableMetadata, update: Update): TableMetadata {
  const { schemas, snapshots = [], 'partition-specs': specs, 'snapshot-log': log = [] } = metadata;
  switch (update.action) {
    case 'upgrade-format-version':
      return metadata;
    case 'assign-uuid':
      return { ...metadata, 'table-uuid': update.uuid };
    case 'set-location':
      return { ...metadata, location: update.location };
    case 'add-schema':
      return { ...metadata, schemas: [...schemas, update.schema], 'last-column-id': update['last-column-id'] };
    case 'set-current-schema':
      return { ...metadata, 'current-schema-id': update['schema-id'] };
    case 'add-spec': {
      const lastId = Math.max(metadata['last-partition-id'], ...update.spec.fields.map((field) => field['field-id']));
      return { ...metadata, 'partition-specs': [...specs, update.spec], 'last-partition-id': lastId };
    }
    case 'set-default-spec':
      return { ...metadata, 'default-spec-id': update['spec-id'] };
    case 'add-sort-order':
      return { ...metadata, 'sort-orders': [...metadata['sort-orders'], update['sort-order']] };
    case 'set-default-sort-order':
      return { ...metadata, 'default-sort-order-id': update['sort-order-id'] };
    case 'set-properties':
      return { ...metadata, properties: { ...metadata.properties, ...update.updates } };
    case 'add-snapshot': {
      const { 'sequence-number': sequence, 'timestamp-ms': time } = update.snapshot;
      return { ...metadata, snapshots: [...snapshots, update.snapshot], 'last-sequence-number': sequence, 'last-updated-ms': time };
    }
    case 'set-snapshot-ref': {
      const { action: _, 'ref-name': name, ...ref } = update;
      const refs = { ...metadata.refs, [name]: ref };
      if (name !== 'main') return { ...metadata, refs };
      const entry = { 'timestamp-ms': metadata['last-updated-ms'], 'snapshot-id': ref['snapshot-id'] };
      return { ...metadata, refs, 'current-snapshot-id': ref['snapshot-id'], 'snapshot-log': [...log, entry] };
    }
    case 'remove-snapshots': {
      const isRemoved = ({ 'snapshot-id': id }: { 'snapshot-id': number | bigint }) => update['snapshot-ids'].includes(id);
      // The log is a history without gaps.
      const rest = log.slice(log.findLastIndex(isRemoved) + 1);
      return { ...metadata, snapshots: snapshots.filter((snapshot) => !isRemoved(snapshot)), 'snapshot-log': rest };
    }
  }
}
