import { randomUUID } from 'node:crypto';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Row } from '../../src/core/index.js';
import type { CatalogOptions } from '../../src/lake/iceberg/index.js';
import { RestCatalog, RunLog, storeTable, tableAt, verifyTable } from '../../src/lake/index.js';
import type { ParquetOptions, SinkWriter } from '../../src/sinks/index.js';
import { parquetSink } from '../../src/sinks/parquet.js';
import { isRemote, objectsAt, sha256File, Stores, type ObjectStore, type ObjectStores } from '../../src/store/index.js';
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
  /** Whether the next runs have a state folder, and its name. */
  hasState = true;
  state = 'state';

  private constructor(
    readonly kind: Kind,
    readonly path: string,
    readonly folder: string,
    readonly catalog?: CatalogOptions,
  ) {}

  static async at(kind: Kind, place: Place): Promise<Tested> {
    const folder = await temporaryFolder();
    if (place === 'folder') return new Tested(kind, join(folder, 't'), folder);
    if (place === 'disk') return new Tested(kind, `${disk}${join(folder, 't')}`, folder);
    const { env, catalog: uri } = await seaweedfs();
    const credential = 'writer:writer-secret';
    Object.assign(process.env, env, { LEADSTREAM_CATALOG_URI: uri, LEADSTREAM_CATALOG_CREDENTIAL: credential });
    const catalog = { uri, warehouse, name: `days.t_${randomUUID().slice(0, 8)}`, credential, scope: 'catalog' };
    if (place === 'catalog') return new Tested(kind, await new RestCatalog(catalog).location(), folder, catalog);
    return new Tested(kind, `s3://${bucket}/${randomUUID()}/t`, folder);
  }

  /** A table of five nights that append; the second day has several files. */
  static async ofNights(kind: Kind, place: Place, options: Partial<ParquetOptions>): Promise<Tested> {
    const table = await Tested.at(kind, place);
    for (const [index, id] of ['a', 'b', 'c', 'd', 'e'].entries())
      await table.run({ ...options, mode: 'append' }, rowsOf(index < 2 ? '20240101' : '20240102', id));
    return table;
  }

  /** What the verbs take, to find the table and the log of its runs. */
  get options() {
    return { stores: this.stores, stateDir: join(this.folder, this.state) };
  }

  get lastRun(): string {
    return nameOf(this.#runs);
  }

  get nextRun(): string {
    return nameOf(this.#runs + 1);
  }

  get log(): string {
    return join(this.folder, this.state, 'runs.ndjson');
  }

  get objects(): ObjectStore {
    return this.stores.at(this.path);
  }

  readonly stores = new TestedStores();

  open(options: Partial<ParquetOptions>, stores: ObjectStores = this.stores): Promise<SinkWriter> {
    this.#runs += 1;
    const runLog = this.hasState ? new RunLog(join(this.folder, this.state)) : undefined;
    // All runs begin at one instant, so that the versions of each have to begin after those of the last one.
    const context = { ...recording(this.folder, this.lastRun), key: ['id'], runLog, firstStart: () => '2026-03-01T00:00:00.000Z' };
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

  /** The table by its kind, also where nothing is yet. */
  get table() {
    return storeTable(this.objects, this.kind, this.catalog && new RestCatalog(this.catalog));
  }

  async version() {
    return (await tableAt(this.path, this.stores)).version();
  }

  /** The identifiers that readers of the current version see. */
  async rows(): Promise<readonly string[]> {
    return (await this.read()).map(({ id }) => String(id)).sort();
  }

  /** The rows of the current version as DuckDB reads its files. */
  async read(): Promise<readonly Record<string, unknown>[]> {
    const isLinked = this.kind === 'plain' && !isRemote(this.path);
    const { files = [] } = (isLinked ? await this.version() : await this.table.format.load()) ?? {};
    const copies = await temporaryFolder();
    const paths: string[] = [];
    for (const [index, { name }] of files.entries()) {
      const folders = this.kind === 'iceberg' ? 'file' : name.replace(/^data\/[^/]+\//, '').replace(/\.stored$/, '');
      const path = join(copies, String(index), folders);
      await mkdir(dirname(path), { recursive: true });
      await this.objects.download(name, path);
      paths.push(`'${path.replaceAll("'", "''")}'`);
    }
    if (paths.length === 0) return [];
    const hive = `hive_partitioning = ${this.kind !== 'iceberg'}, hive_types_autocast = false`;
    return duckdb(`SELECT * FROM read_parquet([${paths.join()}], union_by_name = true, ${hive})`);
  }

  async check(): Promise<void> {
    expect((await verifyTable(this.path, { stores: this.stores })).differences).toEqual([]);
    expect(await this.keys('_leadstream/intents/')).toEqual([]);
    expect(await readdir(join(this.folder, 'scratch')).catch(() => [])).toEqual([]);
  }

  /** Returns a copy of all objects on this machine. */
  async saved(): Promise<string> {
    const copy = await temporaryFolder();
    for (const key of await this.keys()) {
      await mkdir(dirname(join(copy, key)), { recursive: true });
      await this.objects.download(key, join(copy, key));
    }
    return copy;
  }

  /** Puts back the objects that were saved, and no other, or some of them. */
  async restore(copy: string, isMeant: (key: string) => boolean = () => true): Promise<void> {
    await this.objects.remove((await this.keys()).filter(isMeant));
    for (const { parentPath, name } of (await readdir(copy, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())) {
      const path = join(parentPath, name);
      const key = path.slice(copy.length + 1);
      if (isMeant(key)) await this.objects.upload(key, { path, bytes: (await stat(path)).size, sha256: await sha256File(path) });
    }
  }
}

function nameOf(run: number): string {
  return `run-${String(run).padStart(4, '0')}`;
}

/** `disk`: a folder of this machine as if it were a bucket. */
export type Place = 'bucket' | 'folder' | 'catalog' | 'disk';

const disk = 's3://disk';

/** Stores some of whose requests fail, as those of a process that is dead. */
class TestedStores extends Stores {
  fails: (name: keyof ObjectStore, key: string) => boolean = () => false;

  override at(root: string, mode?: number): ObjectStore {
    const onDisk = root.startsWith(disk);
    const get = (store: ObjectStore, name: keyof ObjectStore): unknown => {
      const value = store[name];
      if (typeof value !== 'function') return name === 'root' ? root : value;
      // A bucket may have an object and others below its key.
      if (name === 'find' && onDisk) return (key: string) => store.find(key).catch(() => undefined);
      return (of: string | readonly string[], ...rest: readonly unknown[]) => {
        const failed = [of].flat().some((key) => this.fails(name, key));
        if (failed) throw new Error('dead');
        return Reflect.apply(value, store, [of, ...rest]);
      };
    };
    return new Proxy(onDisk ? objectsAt(root.slice(disk.length)) : super.at(root, mode), { get });
  }
}

/** The tables on a store of this machine, and those that need a server. */
export const here: readonly (readonly [Kind, Place])[] = [
  ['iceberg', 'folder'],
  ['delta', 'folder'],
];
export const onServers: readonly (readonly [Kind, Place])[] = [
  ['plain', 'bucket'],
  ['iceberg', 'bucket'],
  ['iceberg', 'catalog'],
  ['delta', 'bucket'],
];
