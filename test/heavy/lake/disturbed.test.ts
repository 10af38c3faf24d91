import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { inspect } from 'node:util';
import { ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { expect, test } from '@jest/globals';
import { checkStore } from '../../../src/store/objects-at.js';
import { type ObjectStore, type ObjectStores } from '../../../src/store/index.js';
import { S3Objects } from '../../../src/store/s3.js';
import { cuttingProxy, type Fate } from '../../support/cutting-proxy.js';
import { inSeaweedFS } from '../../support/in-seaweedfs.js';
import { type SeaweedFS, seaweedfs } from '../../support/seaweedfs.js';
import { column } from '../../support/sinks.js';
import { type Kind, type Place, Tested } from '../../support/tested-table.js';

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

/** A table whose writers take no lock. Each run writes 400 rows of one day, and one row of another, except where it replaces partitions. */
class Disturbed {
  #rows: readonly string[] = [];
  /** All runs whose rows were seen. */
  readonly #published = new Set<string>();

  private constructor(
    readonly table: Tested,
    readonly mode: Mode,
    readonly server: SeaweedFS,
  ) {}

  static async at(kind: Kind, place: Place, mode: Mode): Promise<Disturbed> {
    const table = await Tested.at(kind, place);
    table.hasState = false;
    return new Disturbed(table, mode, await seaweedfs());
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

  async run(before: readonly string[], catalog = this.server.catalog, stores: ObjectStores = this.table.stores): Promise<void> {
    const { table, mode } = this;
    const run = table.nextRun;
    const isLarge = table.kind === 'plain' && mode === 'replace';
    const rows = this.after(before, run).filter((id) => id.startsWith(run));
    const page = rows.map((id) => ({
      ...{ id, day: id.endsWith('-d') ? '20240101' : '20240102' },
      blob: isLarge ? randomBytes(10_000).toString('hex') : '',
    }));
    const through = table.catalog && { catalog: { ...table.catalog, uri: catalog } };
    await table.run({ ...through, mode, partition_by: ['day'], keep: 0 }, page, stores, columns);
  }

  /** The rows that a reader sees. */
  async rows(): Promise<readonly string[]> {
    for (const run of (await this.table.table.format.load())?.runs ?? []) this.#published.add(run);
    return this.table.rows();
  }

  /** What the store lacks of what versions name, and what it has that none needs. */
  async faults(): Promise<readonly string[]> {
    const { kind, path, table } = this.table;
    const { current, kept = [], files = [], runs = [], state } = (await table.format.load()) ?? {};
    const [keys, named] = [new Set(await this.table.keys()), new Set(files.map(({ name }) => name))];
    for (const run of current ? [current, ...kept] : []) {
      const { manifest, isUnchanged } = await table.manifest(run);
      if (!isUnchanged) named.add(`the manifest of ${run.run} as it was`);
      for (const { name } of manifest?.files ?? []) named.add(name);
      if (manifest?.keys) named.add(`_leadstream/runs/${run.run}.keys.bin`);
    }
    // Manifests of Iceberg stay as long as the current version has their files, whichever run wrote them.
    const listed = kind === 'iceberg' ? inspect(state, { depth: null, maxArrayLength: null }) : '';
    for (const key of keys) if (key.endsWith('.avro') && listed.includes(key)) named.add(key);
    // Files of a Delta table stay for a week, and the manifest of an expired run until the run after that.
    const isUnneeded = (key: string) => {
      const [run] = /run-\d{4}/.exec(key) ?? [];
      const isKept = run !== undefined && this.#published.has(run) && (key.startsWith('_leadstream/runs/') || kind === 'delta');
      return run !== undefined && !named.has(key) && !isKept && (!runs.includes(run) || key.includes('/intents/'));
    };
    const [, , Bucket, ...prefix] = path.split('/');
    const client = new S3Client({ endpoint: this.server.endpoint, forcePathStyle: true });
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: prefix.join('/') }));
    client.destroy();
    return [
      ...[...named].filter((name) => !keys.has(name)).map((name) => `missing: ${name}`),
      ...[...keys].filter(isUnneeded).map((key) => `left: ${key}`),
      ...Uploads.map(({ Key }) => `left: upload of ${Key}`),
    ];
  }

  /** Expects that an undisturbed run succeeds, and that nothing is left of those before it. */
  async settle(): Promise<void> {
    const before = this.#rows;
    await this.run(before);
    this.#rows = this.after(before, this.table.lastRun);
    expect(await this.rows()).toEqual(this.#rows);
  }

  /** Runs once, with one request disturbed, and then undisturbed. @returns The request, if the run had as many. */
  async disturb(nth: number, by: (late: Promise<unknown>) => readonly [Fate, Fate]): Promise<string | undefined> {
    const [before, run] = [this.#rows, this.table.nextRun];
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
    const ended = this.run(before, catalog.url, storesBy(s3.url)).then(
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
}

class Signal {
  give: () => void = () => {};
  readonly given = new Promise<void>((resolve) => (this.give = resolve));
}

function idsOf(run: string): readonly string[] {
  return Array.from({ length: 400 }, (_, index) => `${run}-${index}`);
}

const kinds: readonly (readonly [Kind, Place, Mode])[] = [
  ['plain', 'bucket', 'append'],
  ['iceberg', 'bucket', 'append'],
  ['delta', 'bucket', 'replace_partitions'],
];

const more: readonly (readonly [Kind, Place, Mode])[] = [
  ['plain', 'bucket', 'replace'],
  ['plain', 'bucket', 'replace_partitions'],
  ['iceberg', 'bucket', 'replace_partitions'],
  ['iceberg', 'catalog', 'append'],
  ['iceberg', 'catalog', 'replace_partitions'],
  ['delta', 'bucket', 'append'],
];

inSeaweedFS('a table', () => {
  test.each(isWhole ? [...kinds, ...more] : kinds)(
    '(%s in a %s, %s) has the rows before or after a run, and nothing else after the next one, whatever becomes of a request',
    async (kind, place, mode) => {
      const names = Object.keys(fates);
      let table = await Disturbed.at(kind, place, mode);
      for (let nth = 0, request: string | undefined = ''; request !== undefined; nth += isWhole ? 1 : step) {
        for (const name of isWhole ? names : names.slice((nth / step + kind.length) % names.length).slice(0, 1)) {
          // Of a table that exists, and of a new one. A catalog may give a new table another place if there is something.
          if (name === names[0] || !isWhole) table = await Disturbed.at(kind, place, mode);
          if (place === 'catalog' || nth % 3 !== 0) await table.settle();
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
