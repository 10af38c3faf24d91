import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Row } from '../../src/core/index.js';
import { RestCatalog, RunLog, StoreTable, tableAt, verifyTable } from '../../src/lake/index.js';
import type { ParquetOptions, SinkWriter } from '../../src/sinks/index.js';
import { parquetSink } from '../../src/sinks/parquet.js';
import { Stores, type ObjectStore, type ObjectStores } from '../../src/store/index.js';
import { duckdb } from './duckdb.js';
import { bucket, seaweedfs, warehouse } from './seaweedfs.js';
import { column, elsewhere, recording, writeAll } from './sinks.js';
import { temporaryFolder } from './temporary.js';

export const columns = [column('id', 'text', { source: 'id' }), column('day', 'date'), column('n', 'integer')];
export const rowsOf = (day: string, ...ids: string[]): Row[] => ids.map((id, index) => ({ id, day, n: String(index) }));

export type Kind = ParquetOptions['table'] & string;

/** A table, and the folder of this machine that its runs use. */
export class Tested {
  #runs = 0;

  private constructor(
    readonly kind: Kind,
    readonly path: string,
    readonly folder: string,
    readonly catalog?: ParquetOptions['catalog'],
  ) {}

  static async at(kind: Kind, place: Place): Promise<Tested> {
    const folder = await temporaryFolder();
    if (place === 'folder') return new Tested(kind, join(folder, 't'), folder);
    const { env, catalog: uri } = await seaweedfs();
    const credential = 'writer:writer-secret';
    Object.assign(process.env, env, { LEADSTREAM_CATALOG_URI: uri, LEADSTREAM_CATALOG_CREDENTIAL: credential });
    const catalog = { uri, warehouse, name: `days.t_${randomUUID().slice(0, 8)}`, credential, scope: 'catalog' };
    if (place === 'catalog') return new Tested(kind, await new RestCatalog(catalog).location(), folder, catalog);
    return new Tested(kind, `s3://${bucket}/${randomUUID()}/t`, folder);
  }

  get lastRun(): string {
    return `run-${String(this.#runs).padStart(4, '0')}`;
  }

  get objects(): ObjectStore {
    return new Stores().at(this.path);
  }

  open(options: Partial<ParquetOptions>, stores: ObjectStores = new Stores()): Promise<SinkWriter> {
    this.#runs += 1;
    const runLog = new RunLog(join(this.folder, 'state'));
    const context = { ...recording(this.folder, this.lastRun), key: ['id'], runLog };
    // Without the lock, which only saves work.
    const at = this.catalog ? { catalog: this.catalog } : { path: this.path };
    return elsewhere(parquetSink, { ...at, table: this.kind, ...options })({
      ...context,
      stores,
      scratch: join(this.folder, 'scratch'),
    });
  }

  run(options: Partial<ParquetOptions>, rows: readonly Row[], stores?: ObjectStores, of = columns) {
    return writeAll(this.open(options, stores), of, rows);
  }

  async keys(prefix = ''): Promise<readonly string[]> {
    const keys: string[] = [];
    for await (const { key } of this.objects.list(prefix)) keys.push(key);
    return keys;
  }

  async version() {
    const table = await tableAt(this.path, new Stores());
    if (table instanceof StoreTable) return table.version();
    throw new Error(`${this.path} is not a table on a store`);
  }

  /** The rows that readers of the current version see, as DuckDB reads its files. */
  async rows(): Promise<readonly string[]> {
    const { files } = await this.version();
    const copies = await temporaryFolder();
    const paths = files.map((_, index) => join(copies, `${index}.parquet`));
    for (const [index, { name }] of files.entries()) await this.objects.download(name, paths[index] ?? '');
    if (paths.length === 0) return [];
    const found = await duckdb(`SELECT id FROM read_parquet([${paths.map((path) => `'${path}'`).join()}]) ORDER BY id`);
    return found.map(({ id }) => String(id));
  }

  async check(): Promise<void> {
    expect((await verifyTable(this.path)).differences).toEqual([]);
    expect(await this.keys('_leadstream/intents/')).toEqual([]);
    expect(await readdir(join(this.folder, 'scratch')).catch(() => [])).toEqual([]);
  }
}

export type Place = 'bucket' | 'folder' | 'catalog';

export const kinds: readonly (readonly [Kind, Place])[] = [
  ['plain', 'bucket'],
  ['iceberg', 'folder'],
  ['iceberg', 'bucket'],
  ['iceberg', 'catalog'],
  ['delta', 'folder'],
  ['delta', 'bucket'],
];
