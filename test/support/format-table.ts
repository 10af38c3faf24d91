import { stat } from 'node:fs/promises';
import type { OutputColumn, Row, Value } from '../../src/core/index.js';
import { textOf } from '../../src/core/index.js';
import type { AddedFile, TableChange, TableFormat, TableVersion } from '../../src/lake/format.js';
import { DeltaFormat } from '../../src/lake/delta/index.js';
import type { DeltaState } from '../../src/lake/delta/log.js';
import { updated } from '../../src/lake/iceberg/file-catalog.js';
import { type Catalog, fileCatalog, IcebergFormat, type IcebergState, tableMetadata } from '../../src/lake/iceberg/index.js';
import type { Manifest } from '../../src/lake/manifest.js';
import { folderName, partitionTerm } from '../../src/lake/partitions.js';
import { manifestKey } from '../../src/lake/store-table.js';
import { footerOf, statisticsOf } from '../../src/parquet/index.js';
import { DiskObjects } from '../../src/store/disk-objects.js';
import { type ObjectStore, sha256File } from '../../src/store/index.js';
import { emptyManifest, fileOf, output } from './parquet-files.js';
import { temporaryFolder } from './temporary.js';

export interface RunOptions {
  readonly mode?: Manifest['mode'];
  readonly by?: readonly string[];
  readonly columns?: readonly OutputColumn[];
  readonly keep?: number;
  /** What is known of columns: their bounds, by default. */
  readonly known?: 'nothing';
  /** Rows of a file, at most. */
  readonly fileRows?: number;
}

/** A table of a format, and the runs that write it as the lake does. */
export class FormatTable<T> {
  constructor(
    readonly format: TableFormat<T>,
    readonly store: ObjectStore,
    private readonly usual: RunOptions & Pick<Required<RunOptions>, 'columns'>,
  ) {}

  get root(): string {
    return this.store.root;
  }

  async run(runId: string, rows: readonly Row[], options: RunOptions = {}): Promise<TableVersion<T>> {
    const base = await this.format.load();
    const change = await this.change(base, runId, rows, options);
    await this.store.put(manifestKey(runId), JSON.stringify(change.manifest));
    return this.format.commit(base, change);
  }

  async change(base: TableVersion<T> | undefined, runId: string, rows: readonly Row[], options: RunOptions = {}): Promise<TableChange> {
    const { mode = 'replace', by = [], columns, keep = 2, known, fileRows = Infinity } = { ...this.usual, ...options };
    const isDelta = this.format.kind === 'delta';
    const partitions = isDelta ? [] : this.#terms(by).map(({ field, transform, name }) => ({ source: field, transform, name }));
    const fieldIds = isDelta ? undefined : this.format.checkColumns?.(base, columns, partitions);
    const inFiles = isDelta && rows.length > 0 ? columns.filter(({ field }) => !by.includes(field)) : columns;
    // A table of Delta without rows has a file, too.
    const groups = new Map<string, Row[]>(isDelta && rows.length === 0 ? [['', []]] : []);
    for (const row of rows) {
      const folder = this.folderOf(row, { by, columns });
      groups.set(folder, [...(groups.get(folder) ?? []), row]);
    }
    const added: AddedFile[] = [];
    for (const [folder, group] of groups)
      for (let from = 0; from === 0 || from < group.length; from += fileRows) {
        const some = group.slice(from, from + fileRows);
        const path = await fileOf(await temporaryFolder(), inFiles, some, { ...(fieldIds && { fieldIds }) });
        const content = { bytes: (await stat(path)).size, sha256: await sha256File(path) };
        const footer = await footerOf(path);
        if (footer === undefined) throw new Error('the footer cannot be read');
        const name = ['data', runId, ...(folder === '' ? [] : [folder]), `part-${String(added.length).padStart(5, '0')}.parquet`].join('/');
        await this.store.upload(name, { path, ...content });
        const statistics = known === 'nothing' ? new Map() : statisticsOf(footer, inFiles);
        const partition = some.slice(0, 1).flatMap((row) => this.#partitionOf(row, by));
        added.push({ name, rows: some.length, ...content, written_by: runId, partition, statistics });
      }
    const files = base?.files ?? [];
    const removed = files.filter(({ folder = '', rows: count }) => {
      return { replace: true, append: count === 0, replace_partitions: count === 0 || groups.has(folder), merge: count === 0 }[mode];
    });
    const left = [...files.filter((file) => !removed.includes(file)), ...added].reduce((sum, file) => sum + file.rows, 0);
    return {
      runId,
      manifest: { ...emptyManifest, run_id: runId, mode, rows: left, schema: [...columns], partition_by: [...by] },
      sha256: `digest of ${runId}`,
      columns,
      partitions,
      added,
      removed: removed.map(({ name }) => name),
      keep,
    };
  }

  /** The folder of the partition of a row. */
  folderOf(row: Row, { by = [], columns = this.usual.columns }: RunOptions): string {
    const partition = this.#partitionOf(row, by);
    const typeOf = (field: string) => columns.find(({ name }) => name === field)?.type ?? 'text';
    const folders = this.#terms(by).map((term, index) => folderName(term, partition[index] ?? null, typeOf(term.field), this.format.kind));
    return folders.join('/');
  }

  #terms(by: readonly string[]) {
    return by.map((text) => partitionTerm(text, this.format.kind));
  }

  #partitionOf(row: Row, by: readonly string[]): readonly Value[] {
    return this.#terms(by).map(({ field, transform }) => {
      const value = row[field] ?? null;
      if (!(value instanceof Date) || transform === 'identity') return value;
      const months = (value.getUTCFullYear() - 1970) * 12 + value.getUTCMonth();
      return BigInt(transform === 'month' ? months : Math.floor(value.getTime() / 86_400_000));
    });
  }
}

/** Rows as the scripts of readers print them, by their ids. */
export function printed(rows: readonly Row[], columns: readonly OutputColumn[]): readonly Row[] {
  const print = (value: Value, type: OutputColumn['type']) => {
    if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
    const text = textOf(value, type) ?? null;
    return type === 'timestamp' ? (text?.replace(/Z$/, '+00:00') ?? null) : text;
  };
  const sorted = rows.toSorted((one, other) => (String(one['id']) < String(other['id']) ? -1 : 1));
  return sorted.map((row) => Object.fromEntries(columns.map(({ name, type }) => [name, print(row[name] ?? null, type)])));
}

export const columns = [
  output('id', 'text'),
  output('state', 'text'),
  output('note', 'text'),
  output('n', 'integer'),
  output('x', 'decimal'),
  output('ok', 'flag'),
  output('at', 'timestamp'),
  output('day', 'date'),
];

/** A table of Iceberg, by default in a catalog of files. */
export class IcebergTable extends FormatTable<IcebergState> {
  constructor(
    root: string,
    store: ObjectStore = new DiskObjects(root),
    readonly catalog: Catalog = fileCatalog(store),
  ) {
    super(new IcebergFormat(catalog, store), store, { columns, fileRows: 2 });
  }

  async metadata() {
    const metadata = (await this.catalog.load())?.metadata;
    if (metadata === undefined) throw new Error('there is no table');
    return { ...metadata, snapshots: metadata.snapshots ?? [] };
  }
}

/** What readers and runs see of a version. */
export function seen(version: TableVersion<IcebergState> | undefined) {
  return version && { ...version, state: undefined };
}

/** A catalog of several writers, in which only another snapshot of `main` is a conflict, as in one behind a REST API. */
export function sharedCatalog(json: unknown): Catalog {
  let table = { sequence: 100, metadata: tableMetadata(json, 'the catalog') };
  return {
    load: () => Promise.resolve(table),
    commit: (base = table, updates) => {
      const { metadata } = table;
      const holds = base.metadata.refs?.['main']?.['snapshot-id'] === metadata.refs?.['main']?.['snapshot-id'];
      if (holds) table = { sequence: table.sequence + 1, metadata: updated(metadata, updates) };
      return Promise.resolve(holds ? table : 'lost');
    },
  };
}

/** A table of Delta, by default partitioned by state. */
export class DeltaTable extends FormatTable<DeltaState> {
  constructor(store: ObjectStore) {
    super(new DeltaFormat(store), store, { columns, by: ['state'] });
  }

  static async onDisk(): Promise<DeltaTable> {
    return new DeltaTable(new DiskObjects(await temporaryFolder()));
  }
}

/** Rows with a few values, by id. */
export const row = (id: string, state: string | null, more: Row = {}): Row => ({
  ...{
    id,
    state,
    note: `note ${id}`,
    n: BigInt(id.length),
    x: 0.5,
    ok: true,
    at: new Date('2024-01-31T00:00:00.123Z'),
    day: new Date('2024-01-31'),
  },
  ...more,
});
