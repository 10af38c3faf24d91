import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { expect, test } from '@jest/globals';
import { RestCatalog } from '../../../src/lake/iceberg/rest.js';
import { storeTable } from '../../../src/lake/index.js';
import { csvSink } from '../../../src/sinks/csv.js';
import { parquetSink } from '../../../src/sinks/parquet.js';
import { checkStore } from '../../../src/store/objects-at.js';
import { type ObjectStore, type ObjectStores } from '../../../src/store/index.js';
import { S3Objects } from '../../../src/store/s3.js';
import { cuttingProxy, type Fate } from '../../support/cutting-proxy.js';
import { duckdb } from '../../support/duckdb.js';
import { inSeaweedFS } from '../../support/in-seaweedfs.js';
import { bucket, seaweedfs, warehouse } from '../../support/seaweedfs.js';
import { column, elsewhere, recording, writeAll } from '../../support/sinks.js';
import { temporaryFolder } from '../../support/temporary.js';

type Kind = 'plain' | 'iceberg' | 'rest' | 'delta' | 'csv';
type Mode = 'append' | 'replace_partitions' | 'replace';

const columns = [column('id', 'text', { source: 'id' }), column('day', 'date'), column('blob')];

/** What becomes of a request, and of those after it: `late` resolves after the next run. */
const fates: Readonly<Record<string, (late: Promise<unknown>) => readonly [Fate, Fate]>> = {
  'cut before it is sent': () => ['cut', 'answered'],
  'cut after it is applied': () => ['applied', 'answered'],
  'refused by 503': () => ['refused', 'answered'],
  'applied and answered by 500': () => ['failed', 'answered'],
  'applied after the next run': (late) => [late, 'answered'],
  'the last of a killed run, and lost': () => ['silent', 'silent'],
  'the last of a killed run': () => ['unanswered', 'silent'],
  'the last of a killed run, and applied after the next one': (late) => [late, 'silent'],
};

/** By default only some requests are disturbed, each in one way. */
const isWhole = process.env['TEST_DRAWS'] === 'random';
const step = 9;

function storesBy(endpoint: string): ObjectStores {
  const opened = new Map<string, ObjectStore>();
  const at = (root: string) => {
    const store = opened.get(root) ?? new S3Objects(root, { endpoint }, 5 << 20);
    opened.set(root, store);
    return store;
  };
  const above = (path: string) => ({ store: at(path.slice(0, path.lastIndexOf('/'))), key: path.slice(path.lastIndexOf('/') + 1) });
  return { at, above, check: (store) => checkStore(store) };
}

const folders: string[] = [];
process.once('exit', () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Addresses of S3 and of a catalog. */
interface Addresses {
  readonly endpoint: string;
  readonly catalog: string;
}

/** A table or a file whose writers take no lock. Each run writes 400 rows of one day, and one row of another, except where it replaces partitions. */
class Disturbed {
  #runs = 0;
  #rows: readonly string[] = [];
  /** All runs whose rows were seen. */
  readonly #published = new Set<string>();
  readonly #stores: ObjectStores;
  readonly #client: S3Client;

  private constructor(
    readonly kind: Kind,
    readonly mode: Mode,
    readonly folder: string,
    readonly path: string,
    readonly server: Addresses,
  ) {
    this.#stores = storesBy(server.endpoint);
    this.#client = new S3Client({ endpoint: server.endpoint, forcePathStyle: true });
  }

  static async at(kind: Kind, mode: Mode): Promise<Disturbed> {
    const { env, ...server } = await seaweedfs();
    Object.assign(process.env, env);
    // Runs that are never ended still read from it.
    const folder = await mkdtemp(join(tmpdir(), 'leadstream-disturbed-'));
    folders.push(folder);
    const name = `t${randomUUID().slice(0, 8)}`;
    const path = kind === 'rest' ? await new RestCatalog(catalogOf(name, server)).location() : `s3://${bucket}/${name}/t`;
    return new Disturbed(kind, mode, folder, path, server);
  }

  nextRun(): string {
    this.#runs += 1;
    return `run-${String(this.#runs).padStart(4, '0')}`;
  }

  /** The rows after a run. */
  after(before: readonly string[], run: string): readonly string[] {
    const isKept = (id: string) => this.mode === 'append' || (this.mode === 'replace_partitions' && id.endsWith('-d'));
    return [
      ...before.filter(isKept),
      ...idsOf(run),
      ...(this.mode !== 'replace_partitions' || before.length === 0 ? [`${run}-d`] : []),
    ].sort();
  }

  async run(run: string, before: readonly string[], by = this.server, stores = this.#stores): Promise<void> {
    const context = { ...recording(this.folder, run), key: ['id'], stores, scratch: join(this.folder, 'scratch') };
    const isLarge = this.kind === 'plain' && this.mode === 'replace';
    const rows = this.after(before, run).filter((id) => id.startsWith(run));
    const page = rows.map((id) => ({
      ...{ id, day: id.endsWith('-d') ? '20240101' : '20240102' },
      blob: isLarge ? randomBytes(10_000).toString('hex') : '',
    }));
    const place = this.kind === 'rest' ? { table: 'iceberg', catalog: catalogOf(this.path, by) } : { table: this.kind, path: this.path };
    const options = { ...place, mode: this.mode, partition_by: ['day'], keep: 0 };
    const sink = this.kind === 'csv' ? elsewhere(csvSink, { path: `${this.path}.csv` }) : elsewhere(parquetSink, options);
    await writeAll(sink(context), columns, page);
  }

  /** The rows that a reader sees. */
  async rows(): Promise<readonly string[]> {
    const { store, key } = this.#stores.above(`${this.path}.csv`);
    const text = this.kind === 'csv' ? ((await store.read(key))?.bytes.toString() ?? '') : '';
    const lines = text.split(/\r?\n/).slice(1, -1);
    if (this.kind === 'csv') return lines.map((line) => line.split(',', 1).join().replaceAll('"', '')).sort();
    const version = await this.#table.format.load();
    for (const run of version?.runs ?? []) this.#published.add(run);
    const copies = await temporaryFolder();
    const paths: string[] = [];
    for (const { name } of version?.files ?? []) {
      paths.push(`'${join(copies, String(paths.length))}'`);
      await this.#table.objects.download(name, join(copies, String(paths.length - 1)));
    }
    const found = paths.length === 0 ? [] : await duckdb(`SELECT id FROM read_parquet([${paths.join()}])`);
    return found.map(({ id }) => String(id)).sort();
  }

  /** What the store lacks of what versions name, and what it has that none needs. */
  async faults(): Promise<readonly string[]> {
    if (this.kind === 'csv') return [];
    const { objects, format } = this.#table;
    const { current, kept = [], files = [], runs = [] } = (await format.load()) ?? {};
    const [keys, named] = [new Set<string>(), new Set(files.map(({ name }) => name))];
    for await (const { key } of objects.list('')) keys.add(key);
    for (const run of current ? [current, ...kept] : []) {
      const { manifest, isUnchanged } = await this.#table.manifest(run);
      if (!isUnchanged) named.add(`the manifest of ${run.run} as it was`);
      for (const { name } of manifest.files) named.add(name);
      if (manifest.keys) named.add(`_leadstream/runs/${run.run}.keys.bin`);
    }
    // Files of a Delta table stay for a week, and the manifest of an expired run until the run after that.
    const isUnneeded = (key: string) => {
      const [run] = /run-\d{4}/.exec(key) ?? [];
      const isKept = run !== undefined && this.#published.has(run) && (key.startsWith('_leadstream/runs/') || this.kind === 'delta');
      return run !== undefined && !named.has(key) && !isKept && (!runs.includes(run) || key.includes('/intents/'));
    };
    const [, , Bucket, ...prefix] = this.path.split('/');
    const { Uploads = [] } = await this.#client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: prefix.join('/') }));
    return [
      ...[...named].filter((name) => !keys.has(name)).map((name) => `missing: ${name}`),
      ...[...keys].filter(isUnneeded).map((key) => `left: ${key}`),
      ...Uploads.map(({ Key }) => `left: upload of ${Key}`),
    ];
  }

  /** Expects that an undisturbed run succeeds, and that nothing is left of those before it. */
  async settle(): Promise<void> {
    const before = this.#rows;
    const next = this.nextRun();
    await this.run(next, before);
    this.#rows = this.after(before, next);
    expect(await this.rows()).toEqual(this.#rows);
  }

  /** Runs once, with one request disturbed, and then undisturbed. @returns The request, if the run had as many. */
  async disturb(nth: number, by: (late: Promise<unknown>) => readonly [Fate, Fate]): Promise<string | undefined> {
    const [before, run] = [this.#rows, this.nextRun()];
    const [arrival, death] = [new Signal(), new Signal()];
    const [fate, others] = by(arrival.given);
    const requests: string[] = [];
    let isOver = false;
    const fateOf = (request: string): Fate => {
      if (isOver) return 'forbidden';
      const index = requests.push(request) - 1;
      if (index === nth && others === 'silent') setTimeout(death.give, 50);
      return index === nth ? fate : index > nth ? others : 'answered';
    };
    const [s3, catalog] = [await cuttingProxy(this.server.endpoint, fateOf), await cuttingProxy(this.server.catalog, fateOf)];
    const ended = this.run(run, before, { endpoint: s3.url, catalog: catalog.url }, storesBy(s3.url)).then(
      () => 'published',
      (failure: unknown) => String(failure),
    );
    const outcome = await Promise.race([ended, death.given.then(() => 'killed')]);
    const request = requests[nth];
    // What finds out whether the store can be used is not repeated.
    if (outcome !== 'killed' && request?.includes('probe.json') !== true) expect(outcome).toBe('published');
    const after = this.after(before, run);
    const seen = await this.rows();
    expect(outcome === 'published' ? [after] : [before, after]).toContainEqual(seen);
    this.#rows = seen;
    await this.settle();
    expect(await this.faults()).toEqual([]);
    arrival.give();
    if (typeof fate !== 'string') {
      await wait(50);
      expect(await this.rows()).toEqual(this.#rows);
      await this.settle();
      // An object that arrives after it was removed stays, and nobody reads it.
      expect((await this.faults()).filter((fault) => !fault.startsWith('left'))).toEqual([]);
    }
    // A killed run only seems dead, and must let go of what it holds here.
    isOver = true;
    s3.cut();
    catalog.cut();
    await ended;
    return request;
  }

  get #table() {
    const objects = this.#stores.at(this.path);
    if (this.kind === 'rest') return storeTable(objects, 'iceberg', new RestCatalog(catalogOf(this.path, this.server)));
    return storeTable(objects, this.kind === 'csv' ? 'plain' : this.kind);
  }
}

class Signal {
  give: () => void = () => {};
  readonly given = new Promise<void>((resolve) => (this.give = resolve));
}

function idsOf(run: string): readonly string[] {
  return Array.from({ length: 400 }, (_, index) => `${run}-${index}`);
}

function catalogOf(path: string, { catalog: uri }: Addresses) {
  return { uri, name: `disturbed.${path.replace(/.*\//, '')}`, warehouse, credential: 'writer:writer-secret', scope: 'catalog' };
}

const kinds: readonly (readonly [Kind, Mode])[] = [
  ['plain', 'append'],
  ['iceberg', 'append'],
  ['delta', 'replace_partitions'],
  ['csv', 'replace'],
];

const more: readonly (readonly [Kind, Mode])[] = [
  ['plain', 'replace'],
  ['plain', 'replace_partitions'],
  ['iceberg', 'replace_partitions'],
  ['rest', 'append'],
  ['rest', 'replace_partitions'],
  ['delta', 'append'],
];

inSeaweedFS('a table', () => {
  test.each(isWhole ? [...kinds, ...more] : kinds)(
    '(%s, %s) has the rows before or after a run, and nothing else after the next one, whatever becomes of a request',
    async (kind, mode) => {
      const names = Object.keys(fates);
      let table = await Disturbed.at(kind, mode);
      for (let nth = 0, request: string | undefined = ''; request !== undefined; nth += isWhole ? 1 : step) {
        for (const name of isWhole ? names : names.slice((nth / step + kind.length) % names.length).slice(0, 1)) {
          // Of a table that exists, and of a new one. A catalog may give a new table another place if there is something.
          if (name === names[0] || !isWhole) table = await Disturbed.at(kind, mode);
          if (kind === 'rest' || nth % 3 !== 0) await table.settle();
          try {
            request = await table.disturb(nth, (late) => fates[name]?.(late) ?? ['answered', 'answered']);
          } catch (failure) {
            throw new Error(`request ${nth} (${request}) ${name}`, { cause: failure });
          }
        }
      }
    },
    3_600_000,
  );
});
