import { SinkError } from '../../core/index.js';
import { parseExact, stringifyExact } from '../../json/index.js';
import { createOnce, type ObjectStore } from '../../store/index.js';
import type { Catalog, CatalogTable, Update } from './catalog.js';
import { tableMetadata, type TableMetadata } from './metadata.js';
import { firstPartitionId } from './schema.js';

/**
 * The catalog of a table that has its metadata next to its data, as `metadata/v1.metadata.json`, `v2` and so on; whoever creates the next one has committed
 * (https://iceberg.apache.org/spec/#file-system-tables). leadstream is the only writer: others replace files instead of creating them.
 */
export function fileCatalog(store: ObjectStore): Catalog {
  return {
    load: async () => {
      const version = await newestVersion(store);
      if (version === 0) return undefined;
      const key = metadataKey(version);
      const metadata = tableMetadata(parseExact((await store.read(key))?.bytes ?? Buffer.of()), `${store.root}/${key}`);
      if (metadata.properties?.[versionProperty] !== String(version)) throw foreign(store, key);
      const hint = await store.read(hintKey);
      if (hint?.bytes.toString() !== String(version)) await writeHint(store, version);
      return { sequence: version, metadata };
    },
    // What is required of the base holds as long as no version follows it.
    commit: async (base, _requirements, updates) => {
      const version = (base?.sequence ?? 0) + 1;
      const properties = { action: 'set-properties', updates: { [versionProperty]: String(version) } } as const;
      const metadata = { ...applied(base?.metadata, [...updates, properties]), 'metadata-log': metadataLog(store, base) };
      if ((await createOnce(store, metadataKey(version), stringifyExact(metadata))) === 'taken') return 'lost';
      await writeHint(store, version);
      return { sequence: version, metadata };
    },
  };
}

/** Has the number of the version, so that metadata by other writers, which keep properties, is recognized. */
const versionProperty = 'leadstream.metadata-version';

/** Names the newest version for readers without a catalog. It may be behind for a moment, and after a crash until the next run. */
const hintKey = 'metadata/version-hint.text';

function metadataKey(version: number): string {
  return `metadata/v${version}.metadata.json`;
}

async function newestVersion(store: ObjectStore): Promise<number> {
  let newest = 0;
  for await (const { key } of store.list('metadata/')) {
    if (!/\.metadata\.json(\.gz)?$/.test(key)) continue;
    const version = Number(/^metadata\/v(\d+)\.metadata\.json$/.exec(key)?.[1]);
    if (Number.isNaN(version)) throw foreign(store, key);
    newest = Math.max(newest, version);
  }
  return newest;
}

function foreign({ root }: ObjectStore, key: string): SinkError {
  return new SinkError('E_SINK_FOREIGN', `${root}/${key} was written by another program; tables with several writers need a REST catalog`);
}

/** The commit is done, whether the hint can be written or not. */
async function writeHint(store: ObjectStore, version: number): Promise<void> {
  await store.put(hintKey, String(version)).catch(() => undefined);
}

/** https://iceberg.apache.org/spec/#table-metadata-fields: the default of `write.metadata.previous-versions-max`. The files stay. */
const maxPreviousVersions = 100;

function metadataLog({ root }: ObjectStore, base: CatalogTable | undefined): TableMetadata['metadata-log'] {
  if (base === undefined) return [];
  const previous = { 'metadata-file': `${root}/${metadataKey(base.sequence)}`, 'timestamp-ms': base.metadata['last-updated-ms'] };
  return [...(base.metadata['metadata-log'] ?? []), previous].slice(-maxPreviousVersions);
}

/** Applies the updates of a commit to table metadata, or creates it. */
export function applied(base: TableMetadata | undefined, updates: readonly Update[]): TableMetadata {
  const start = base ?? emptyMetadata;
  const now = Math.max(Date.now(), start['last-updated-ms'] + 1);
  return updates.reduce(withUpdate, { ...start, 'last-updated-ms': now });
}

const emptyMetadata: TableMetadata = {
  'format-version': 2,
  'table-uuid': '',
  location: '',
  'last-sequence-number': 0,
  'last-updated-ms': 0,
  'last-column-id': 0,
  schemas: [],
  'current-schema-id': -1,
  'partition-specs': [],
  'default-spec-id': -1,
  'last-partition-id': firstPartitionId - 1,
  'sort-orders': [],
  'default-sort-order-id': -1,
  snapshots: [],
  refs: {},
};

function withUpdate(metadata: TableMetadata, update: Update): TableMetadata {
  const { schemas, snapshots = [], 'partition-specs': specs, 'sort-orders': orders, 'snapshot-log': log = [] } = metadata;
  switch (update.action) {
    case 'assign-uuid':
      return { ...metadata, 'table-uuid': update.uuid };
    case 'upgrade-format-version':
      return { ...metadata, 'format-version': update['format-version'] };
    case 'set-location':
      return { ...metadata, location: update.location };
    case 'add-schema':
      return { ...metadata, schemas: [...schemas, update.schema], 'last-column-id': update['last-column-id'] };
    case 'set-current-schema':
      return { ...metadata, 'current-schema-id': orLast(update['schema-id'], schemas.at(-1)?.['schema-id']) };
    case 'add-spec': {
      const lastId = Math.max(metadata['last-partition-id'], ...update.spec.fields.map((field) => field['field-id']));
      return { ...metadata, 'partition-specs': [...specs, update.spec], 'last-partition-id': lastId };
    }
    case 'set-default-spec':
      return { ...metadata, 'default-spec-id': orLast(update['spec-id'], specs.at(-1)?.['spec-id']) };
    case 'add-sort-order':
      return { ...metadata, 'sort-orders': [...orders, update['sort-order']] };
    case 'set-default-sort-order':
      return { ...metadata, 'default-sort-order-id': orLast(update['sort-order-id'], orders.at(-1)?.['order-id']) };
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
      const isRemoved = (item: Readonly<Record<'snapshot-id', number | bigint>>) => update['snapshot-ids'].includes(item['snapshot-id']);
      // The log is a history without gaps.
      const rest = log.slice(log.findLastIndex(isRemoved) + 1);
      return { ...metadata, snapshots: snapshots.filter((snapshot) => !isRemoved(snapshot)), 'snapshot-log': rest };
    }
    case 'remove-statistics':
      return { ...metadata, statistics: metadata.statistics?.filter((item) => item['snapshot-id'] !== update['snapshot-id']) };
  }
}

function orLast(id: number, last: number | undefined): number {
  return id === -1 && last !== undefined ? last : id;
}
