import { randomUUID } from 'node:crypto';
import { cp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { OutputColumn, Row } from '../../../src/core/index.js';
import { parseExact, stringifyExact } from '../../../src/json/index.js';
import type { TableVersion } from '../../../src/lake/format.js';
import { readAvro, writeAvro } from '../../../src/lake/iceberg/avro.js';
import { applied } from '../../../src/lake/iceberg/file-catalog.js';
import {
  type Catalog,
  fileCatalog,
  IcebergFormat,
  type IcebergState,
  RestCatalog,
  tableMetadata,
} from '../../../src/lake/iceberg/index.js';
import { readManifests } from '../../../src/lake/iceberg/manifests.js';
import { DiskObjects } from '../../../src/store/disk-objects.js';
import { type ObjectStore, objectsAt } from '../../../src/store/index.js';
import { cuttingProxy, type Fate } from '../../support/cutting-proxy.js';
import { FormatTable, printed as printedOf } from '../../support/format-table.js';
import { output } from '../../support/parquet-files.js';
import { seaweedfs, seaweedfsMissing, warehouse } from '../../support/seaweedfs.js';
import { pythonReaders } from '../../support/python.js';
import { around } from '../../support/stores.js';
import { temporaryFolder } from '../../support/temporary.js';

const { testByReaders, python } = pythonReaders(
  'test/readers/iceberg.py',
  'pyiceberg, pyiceberg_core, sqlalchemy, pyarrow, duckdb, duckdb_extension_iceberg, duckdb_extension_avro, duckdb_extension_httpfs',
);

const columns = [
  output('id', 'text'),
  output('state', 'text'),
  output('n', 'integer'),
  output('x', 'decimal'),
  output('ok', 'flag'),
  output('at', 'timestamp'),
  output('day', 'date'),
];

type Version = TableVersion<IcebergState>;

/** What readers and runs see of a version. */
function seen(version: Version | undefined) {
  return version && { ...version, state: undefined };
}

class Table extends FormatTable<IcebergState> {
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

  /** What readers read of snapshots: all the same, and no predicate that skips a file with rows. */
  async read(...snapshots: readonly (number | bigint | 'main')[]): Promise<readonly (readonly Row[])[]> {
    const version = (await this.catalog.load())?.sequence;
    const path = join(this.root, `metadata/v${version}.metadata.json`);
    const found = JSON.parse(python('read', path, ...snapshots.map(String))) as Record<string, { rows: Row[]; differences: string[] }>;
    return snapshots.map((snapshot) => {
      const [one, other] = [found[`pyiceberg ${snapshot}`], found[`duckdb ${snapshot}`]];
      expect(one?.differences).toEqual([]);
      expect(other).toEqual(one);
      return one?.rows ?? [];
    });
  }
}

const instant = (text: string) => new Date(`${text}Z`);

const rows: readonly Row[] = [
  { id: 'a', state: 'CA', n: 1n, x: 0.5, ok: true, at: instant('2024-01-31T23:59:59.999'), day: instant('2024-02-29T00:00') },
  { id: 'b', state: 'NY', n: -(2n ** 63n), x: -1e300, ok: false, at: instant('2024-02-01T00:00'), day: instant('1969-12-31T00:00') },
  { id: 'c', state: null, n: null, x: null, ok: null, at: null, day: null },
  { id: 'd', state: '', n: 2n ** 63n - 1n, x: 5e-324, ok: true, at: instant('1969-12-31T23:59:59.999'), day: instant('0001-01-01T00:00') },
  { id: 'e', state: 'a/b c%=', n: 0n, x: 0, ok: false, at: instant('2024-02-29T12:00'), day: instant('9999-12-31T00:00') },
];

// DuckDB 1.5 finds no rows by month before 1970.
const recent = rows.map((row): Row => ({ ...row, at: row['id'] === 'd' ? instant('1970-01-01T00:00') : (row['at'] ?? null) }));

const texts = [
  'x'.repeat(16),
  `${'x'.repeat(16)}y`,
  '😀'.repeat(20),
  '\u{10ffff}'.repeat(17),
  `${'z'.repeat(15)}\u{10ffff}z`,
  `\ud7ff${'\u{10ffff}'.repeat(20)}`,
];

const printed = (rows: readonly Row[], of = columns) => printedOf(rows, of);

const id = (name: string): Row => ({ id: name });

describe('a table of Iceberg', () => {
  testByReaders('has rows of every kind, which predicates find, in every snapshot', async () => {
    const table = new Table(await temporaryFolder());
    await table.run('r1', rows);
    await table.run(
      'r2',
      texts.map((text, index) => ({ id: String(index), state: text })),
      { fileRows: 1 },
    );
    await table.run('r3', [id('0'), id('1')], { mode: 'append' });
    const version = await table.run('r4', []);
    const { snapshots } = await table.metadata();
    const read = await table.read('main', ...snapshots.map((snapshot) => snapshot['snapshot-id']));
    const second = texts.map((text, index) => ({ id: String(index), state: text }));
    expect(read.slice(0, 3)).toEqual([[], printed(rows), printed(second)]);
    expect(read.slice(3)).toEqual([printed([id('0'), id('1'), ...second]), []]);
    expect(snapshots.map(({ summary }) => [summary['operation'], summary['total-records'], summary['deleted-records']])).toEqual([
      ['append', '5', '0'],
      ['overwrite', '6', '5'],
      ['append', '8', '0'],
      ['overwrite', '0', '8'],
    ]);
    expect(version).toMatchObject({
      current: { run: 'r4', sha256: 'digest of r4' },
      kept: ['r3', 'r2', 'r1'].map((run) => ({ run })),
      files: [],
    });
    expect(seen(await table.format.load())).toEqual(seen(version));
    expect((await table.metadata()).schemas).toHaveLength(1);
  });

  testByReaders('is empty after a first run without rows', async () => {
    const table = new Table(await temporaryFolder());
    await table.run('r1', []);
    expect(await table.read('main')).toEqual([[]]);
  });

  testByReaders('is partitioned by values, months and days, among them null', async () => {
    for (const by of [['state'], ['at'], ['month(at)'], ['day(at)', 'ok'], ['n'], ['day']]) {
      const table = new Table(await temporaryFolder());
      await table.run('r1', recent, { by });
      const changed = recent.slice(1, 3).map((row) => ({ ...row, id: `${String(row['id'])}2` }));
      const version = await table.run('r2', changed, { by, mode: 'replace_partitions' });
      const kept = recent.filter((row) => !changed.some((other) => table.folderOf(row, { by }) === table.folderOf(other, { by })));
      expect({ by, rows: await table.read('main') }).toEqual({ by, rows: [printed([...kept, ...changed])] });
      expect(version.files.every(({ name, folder }) => name.includes(`/${folder}/part-`))).toBe(true);
      expect(seen(await table.format.load())).toEqual(seen(version));
    }
  });

  testByReaders('gives a column that returns, or has another type, a new id and none of the old values', async () => {
    const [key, text, number] = [output('id', 'text'), output('v', 'text'), output('v', 'integer')];
    const steps: readonly (readonly [columns: readonly OutputColumn[], row: Row, by?: readonly string[]])[] = [
      [[key, text], { id: '1', v: 'one' }, ['v']],
      [[key], { id: '2' }],
      [[key, number], { id: '3', v: 3n }, ['v']],
      [[key, { ...text, comment: 'the value' }], { id: '4', v: 'four' }, ['id']],
      [[key, text, output('w', 'flag')], { id: '5', v: 'five', w: true }, ['v']],
    ];
    for (const mode of ['append', 'replace'] as const) {
      const table = new Table(await temporaryFolder());
      for (const [index, [some, row, by = []]] of steps.entries())
        await table.run(`r${index}`, [row], { columns: some, by: mode === 'append' ? [] : by, mode });
      const { schemas, snapshots } = await table.metadata();
      const described = schemas.map(({ fields }) => fields.map(({ name, id, doc = '' }) => `${name} ${id} ${doc}`.trim()).join(', '));
      expect(described).toEqual(['id 1, v 2', 'id 1', 'id 1, v 3', 'id 1, v 4 the value', 'id 1, v 4, w 5']);
      const read = await table.read('main', ...snapshots.map((snapshot) => snapshot['snapshot-id']));
      const wide = [key, text, output('w', 'flag')];
      const before = [...['1', '2', '3'].map(id), { id: '4', v: 'four' }];
      expect(read[0]).toEqual(printed([...(mode === 'append' ? before : []), steps[4]?.[1] ?? {}], wide));
      expect(read[3]).toEqual(printed([...(mode === 'append' ? before.slice(0, 2) : []), steps[2]?.[1] ?? {}], [key, number]));
    }
  });

  testByReaders('returns to an earlier run with its schema, and expires what no run, branch or tag needs', async () => {
    const table = new Table(await temporaryFolder());
    const wide = [...columns, output('late', 'text')];
    await table.run('r1', rows.slice(0, 1));
    await table.run('r2', rows.slice(1, 2), { columns: wide });
    const latest = await table.run('r3', rows.slice(2, 3), { columns: wide, mode: 'append' });
    const restored = await table.format.restore(latest, 'r1');
    expect(restored).toMatchObject({ sequence: 4, current: { run: 'r1' }, kept: [{ run: 'r3' }, { run: 'r2' }] });
    expect(seen(await table.format.load())).toEqual(seen(restored));
    expect(await table.read('main')).toEqual([printed(rows.slice(0, 1))]);
    // A run after it does not reuse the id of the column that the return took away.
    const next = await table.run('r4', rows.slice(3), { columns: wide });
    expect(table.format.checkColumns?.(next, wide, [])?.get('late')).toBe(9);
    expect(next.kept.map(({ run }) => run)).toEqual(['r1', 'r3', 'r2']);

    const { snapshots } = await table.metadata();
    const of = (run: string) => snapshots.find(({ summary }) => summary['leadstream.run'] === run)?.['snapshot-id'] ?? 0;
    const base = await table.catalog.load();
    await table.catalog.commit(base, [{ action: 'set-snapshot-ref', 'ref-name': 'audit', type: 'tag', 'snapshot-id': of('r2') }]);
    const before = await table.format.load();
    const removed = before && (await table.format.expire(before, 1, []));
    // The file of r2 is in r3, too, and the tag keeps it.
    expect(removed?.filter((key) => key.startsWith('data/'))).toEqual(['data/r3/part-00000.parquet']);
    expect(removed?.filter((key) => key.startsWith('metadata/r3-'))).toHaveLength(2);
    expect(removed).toHaveLength(3);
    await table.store.remove(removed ?? []);
    expect(await table.read('main', of('r1'), of('r2'))).toEqual([
      printed(rows.slice(3), wide),
      printed(rows.slice(0, 1)),
      printed(rows.slice(1, 2), wide),
    ]);
    const after = await table.format.load();
    expect(after?.runs).toEqual(['r4', 'r1', 'r2']);
    expect(after && (await table.format.expire(after, 1, []))).toEqual([]);
  });

  testByReaders('goes on after another writer rewrote its files', async () => {
    const root = await temporaryFolder();
    await new Table(root).run('r1', recent, { by: ['month(at)'] });
    const path = python('rewrite', `${root}/metadata/v1.metadata.json`)
      .trim()
      .replace(/^file:\/\//, '');
    const catalog = sharedCatalog(parseExact(await readFile(path)));
    const table = new Table(root, new DiskObjects(root), catalog);
    const base = await table.format.load();
    expect(base).toMatchObject({ current: { run: 'r1' }, kept: [] });
    expect(base?.files.map(({ folder }) => folder).sort()).toEqual([
      'at_month=1970-01',
      'at_month=2024-01',
      'at_month=2024-02',
      'at_month=__HIVE_DEFAULT_PARTITION__',
    ]);
    const version = await table.run('r2', rows.slice(0, 1), { by: ['month(at)'], mode: 'replace_partitions' });
    expect((await table.metadata()).snapshots.map((snapshot) => typeof snapshot['snapshot-id'])).toContain('bigint');
    expect(version).toMatchObject({ current: { run: 'r2' }, kept: [{ run: 'r1' }] });
    expect(seen(await table.format.load())).toEqual(seen(version));
    await writeFile(join(root, `metadata/v${version.sequence}.metadata.json`), stringifyExact(version.state.table.metadata));
    expect(await table.read('main')).toEqual([printed(recent)]);
    // The change of another writer during a run, here that of r1 again, is a conflict.
    const change = await table.change(base, 'r3', rows, {});
    await expect(table.format.commit(base, change)).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    const obsolete = await table.format.expire(version, 0, []);
    expect(obsolete.filter((key) => key.startsWith('data/'))).toHaveLength(5);
    await table.store.remove(obsolete);
    const { sequence, metadata } = (await catalog.load()) ?? {};
    await writeFile(join(root, `metadata/v${sequence}.metadata.json`), stringifyExact(metadata));
    expect(await table.read('main')).toEqual([printed(recent)]);
  });
});

const inCatalog = seaweedfsMissing === undefined ? describe : describe.skip;

inCatalog(seaweedfsMissing ?? 'a table of Iceberg in a REST catalog', () => {
  /** @param fates Those of commits, one after the other. */
  async function opened(fates: Fate[] = []) {
    const { catalog: uri, env } = await seaweedfs();
    Object.assign(process.env, env);
    const name = `days.leads_${randomUUID().slice(0, 8)}`;
    const isCommit = /^POST .*namespaces\/[^/]+\/tables\/./;
    const proxy = await cuttingProxy(uri, (request) => (isCommit.test(request) ? fates.shift() : undefined) ?? 'answered');
    const catalog = new RestCatalog({ uri: proxy.url, name, warehouse, credential: 'writer:writer-secret', scope: 'catalog' });
    const root = await catalog.location();
    const table = new Table(root, objectsAt(root), catalog);
    const read = () => {
      const found: unknown = JSON.parse(python('catalog', uri, warehouse, 'writer:writer-secret', name));
      return (found as readonly (readonly { readonly id: string }[])[]).map((rows) => rows.map((row) => row.id).join(''));
    };
    return { root, table, read };
  }

  testByReaders('is where that wants it, and there pyiceberg and DuckDB read it', async () => {
    const { root, table, read } = await opened();
    expect(root).toMatch(`s3://${warehouse}/`);
    const by = ['month(at)'];
    await table.run('r1', recent, { by });
    const wide = [...columns, output('late', 'text')];
    const second = await table.run('r2', [{ ...recent[1], late: 'x' }], { by, mode: 'replace_partitions', columns: wide });
    // February 2024 had two rows.
    expect(read()).toEqual(['abcde', 'abcd']);
    const restored = await table.format.restore(second, 'r1');
    expect(restored).toMatchObject({ current: { run: 'r1' }, kept: [{ run: 'r2' }] });
    const change = await table.change(second, 'r3', rows, { by });
    await expect(table.format.commit(second, change)).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    const fourth = await table.run('r4', rows.slice(0, 1), { by, mode: 'append' });
    await table.store.remove(await table.format.expire(fourth, 1, []));
    expect(read()).toEqual(['abcde', 'aabcde']);
    expect(seen(await table.format.load())).toMatchObject({ current: { run: 'r4' }, kept: [{ run: 'r1' }] });
  });

  test.each<[string, ...Fate[]]>([
    ['was never sent', 'cut'],
    ['was applied, and the reply was lost', 'applied'],
    ['was applied, and 500 came back', 'failed'],
    ['was first not sent, and then lost its reply', 'cut', 'cut', 'applied'],
  ])('is committed to once when a commit %s', async (_what, ...fates) => {
    const { table } = await opened([...fates, ...fates, ...fates]);
    for (const run of ['r1', 'r2']) await table.run(run, [id(run)], { mode: 'append' });
    const version = await table.run('r3', [id('r3')]);
    const { snapshots } = await table.metadata();
    expect(snapshots.map(({ summary }) => [summary['leadstream.run'], summary['total-records']])).toEqual([
      ['r1', '1'],
      ['r2', '2'],
      ['r3', '1'],
    ]);
    expect(seen(await table.format.load())).toEqual(seen(version));
  });
});

/** A catalog of several writers, in which only another snapshot of `main` is a conflict, as in one behind a REST API. */
function sharedCatalog(json: unknown): Catalog {
  let table = { sequence: 100, metadata: tableMetadata(json, 'the catalog') };
  return {
    load: () => Promise.resolve(table),
    commit: (base = table, updates) => {
      const { metadata } = table;
      const holds = base.metadata.refs?.['main']?.['snapshot-id'] === metadata.refs?.['main']?.['snapshot-id'];
      if (holds) table = { sequence: table.sequence + 1, metadata: applied(metadata, updates) };
      return Promise.resolve(holds ? table : 'lost');
    },
  };
}

test.each(['before', 'in'])('keeps what a tag refers to that others make just %s the commit that expires', async (when) => {
  const own = new Table(await temporaryFolder());
  for (const run of ['r1', 'r2', 'r3']) await own.run(run, [id(run)]);
  const catalog = sharedCatalog(await own.metadata());
  const version = await new IcebergFormat(catalog, own.store).load();
  const first = (await own.metadata()).snapshots[0]?.['snapshot-id'] ?? 0;
  const tag = () => catalog.commit(undefined, [{ action: 'set-snapshot-ref', 'ref-name': 'audit', type: 'tag', 'snapshot-id': first }]);
  if (when === 'before') await tag();
  const slow: Catalog = {
    load: () => catalog.load(),
    commit: async (...commit) => {
      if (when === 'in') await tag();
      return catalog.commit(...commit);
    },
  };
  const removed = version && (await new IcebergFormat(slow, own.store).expire(version, 0, []));
  const runs = new Set(removed?.map((key) => /r\d/.exec(key)?.[0]));
  expect([...runs]).toEqual(['r2']);
  const { snapshots = [], refs = {} } = (await catalog.load())?.metadata ?? {};
  expect([snapshots.length, refs['audit']?.['snapshot-id']]).toEqual([when === 'in' ? 1 : 2, first]);
});

describe('a commit to a table of Iceberg', () => {
  const hint = 'metadata/version-hint.text';

  test('has a hint that is not older than another one, when it arrives late', async () => {
    const root = await temporaryFolder();
    await new Table(root).run('r1', [id('1')]);
    const store = around(new DiskObjects(root), ['put', 'replace'], async (write, key) => {
      if (key === hint) await new Table(root).run('r3', [id('3')]);
      return write();
    });
    await new Table(root, store).run('r2', [id('2')]);
    expect(await readFile(join(root, hint), 'utf8')).toBe('3');
  });

  test.each(['lost', 'not sent'])(
    'happens once when the reply of the catalog, or the request, is %s, as do a return and an expiry',
    async (fault) => {
      const store = new DiskObjects(await temporaryFolder());
      const catalog = fileCatalog(store);
      let calls = 0;
      const faulty: Catalog = {
        load: () => catalog.load(),
        commit: async (...commit) => {
          calls += 1;
          if (fault === 'not sent' && calls % 2 === 0) return catalog.commit(...commit);
          if (fault === 'lost') await catalog.commit(...commit);
          throw new Error('the connection broke');
        },
      };
      const table = new Table(store.root, store, faulty);
      await table.run('r1', [id('1')]);
      const second = await table.run('r2', [id('2')], { mode: 'append' });
      expect(second).toMatchObject({ sequence: 2, current: { run: 'r2' }, kept: [{ run: 'r1' }] });
      const restored = await table.format.restore(second, 'r1');
      expect(restored).toMatchObject({ sequence: 3, current: { run: 'r1' }, kept: [{ run: 'r2' }] });
      expect(await table.format.expire(restored, 0, [])).toHaveLength(3);
      expect(await table.format.load()).toMatchObject({ sequence: 4, current: { run: 'r1' }, kept: [] });
      expect((await table.metadata()).snapshots).toHaveLength(1);
    },
  );
});

test('a table of Iceberg never has fewer rows because its manifests or lists are damaged', async () => {
  const table = new Table(await temporaryFolder());
  for (const [night, run] of ['r1', 'r2', 'r3', 'r4', 'r5'].entries()) {
    const base = await table.format.load();
    const change = await table.change(base, run, [id(run)], { mode: night === 3 ? 'replace' : 'append' });
    // So many that a manifest has several blocks.
    const added = change.added.flatMap((file) => Array.from({ length: 400 }, (_, index) => ({ ...file, name: `${file.name}-${index}` })));
    await table.format.commit(base, { ...change, added });
  }
  const whole = seen(await table.format.load());
  const { snapshots } = await table.metadata();
  const byNight: (readonly string[])[] = [];
  for (const snapshot of snapshots) {
    const path = snapshot['manifest-list'];
    const { records } = await readAvro(await readFile(path));
    byNight.push([path, ...(records as { manifest_path: string }[]).map((row) => row.manifest_path)]);
  }
  let borders = 0;
  for (const [night, paths] of byNight.entries()) {
    for (const [which, path] of paths.entries()) {
      const bytes = await readFile(path);
      const sync = bytes.subarray(-16);
      const damages: (Buffer | undefined)[] = [
        undefined,
        Buffer.of(),
        ...Array.from({ length: 10 }, (_, index) => bytes.subarray(0, (bytes.length * index) / 10)),
      ];
      for (let at = bytes.indexOf(sync); at + 16 < bytes.length; at = bytes.indexOf(sync, at + 1))
        borders += damages.push(bytes.subarray(0, at + 16));
      const predecessor = byNight[night - 1]?.[which];
      if (predecessor) damages.push(await readFile(predecessor));
      for (const damage of damages) {
        await (damage ? writeFile(path, damage) : rm(path));
        const found = await table.format.load().then(seen, (failure: unknown) => failure);
        const restored = await readManifests(table.store, snapshots[night] as never).catch((failure: unknown) => failure);
        expect(restored).toMatchObject({ code: 'E_SINK_FOREIGN', message: expect.stringContaining(path) });
        expect(found).toEqual(night === 4 ? restored : whole);
      }
      await writeFile(path, bytes);
    }
  }
  expect(borders).toBeGreaterThan(10);
  expect(seen(await table.format.load())).toEqual(whole);
});

describe('a table of Iceberg that leadstream may not write is refused', () => {
  const first = 'metadata/v1.metadata.json';
  const edited = async (root: string, change: (text: string) => string) => {
    await writeFile(join(root, first), change(await readFile(join(root, first), 'utf8')));
  };
  const cases: readonly (readonly [name: string, (root: string) => Promise<unknown>, message: RegExp])[] = [
    ['format version 3', (root) => edited(root, (text) => text.replace('"format-version":2', '"format-version":3')), /format version is 3/],
    ['no metadata', (root) => edited(root, () => '{"a":'), /cannot be read as table metadata/],
    [
      'a property that another program copied',
      (root) => cp(join(root, first), join(root, 'metadata/v2.metadata.json')),
      /v2.*another program/,
    ],
    ['metadata of a catalog', (root) => cp(join(root, first), join(root, 'metadata/00001-a.metadata.json')), /00001-a.*another program/],
    ['a table without our mark', (root) => edited(root, (text) => text.replace('leadstream.writer', 'writer')), /another writer/],
    ['a file elsewhere', (root) => edited(root, (text) => text.replace('/metadata/r1', '/../r1')), /leads out/],
    ['an unknown codec', (root) => unreadable(root), /cannot be read/],
    ['delete files', (root) => withDeletes(root), /delete files/],
  ];
  test.each(cases)('for %s', async (_, change, message) => {
    const table = new Table(await temporaryFolder());
    await table.run('r1', [id('1')]);
    await change(table.root);
    await expect(table.format.load()).rejects.toMatchObject({ code: 'E_SINK_FOREIGN', message: expect.stringMatching(message) });
  });

  test('unless an earlier run alone has delete files, which expire', async () => {
    const table = new Table(await temporaryFolder());
    await table.run('r1', [id('1')]);
    await withDeletes(table.root);
    await expect(table.run('r2', [])).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    await withDeletes(table.root, 0);
    const version = await table.run('r2', []);
    await withDeletes(table.root);
    expect(await table.format.load()).toMatchObject({ current: { run: 'r2' } });
    expect(await table.format.expire(version, 0, [])).toHaveLength(3);
  });

  test('when it was moved', async () => {
    const table = new Table(await temporaryFolder());
    await table.run('r1', [id('1')]);
    const copy = join(await temporaryFolder(), 'copy');
    await cp(table.root, copy, { recursive: true });
    await expect(new Table(copy).format.load()).rejects.toMatchObject({
      code: 'E_SINK_FOREIGN',
      message: expect.stringContaining('cannot be moved'),
    });
  });
});

/** Says of the files in the first manifest of a table that they have data or, by default, position deletes. */
async function withDeletes(root: string, content = 1): Promise<void> {
  const { metadata } = (await fileCatalog(new DiskObjects(root)).load()) ?? {};
  const listed = metadata?.snapshots?.[0]?.['manifest-list'] ?? '';
  const list = await readAvro(await readFile(listed));
  const { manifest_path: path } = list.records[0] as { manifest_path: string };
  const { schema, records } = await readAvro(await readFile(path));
  const deletes = (records as { data_file: object }[]).map((entry) => ({ ...entry, data_file: { ...entry.data_file, content } }));
  await writeFile(path, await writeAvro(schema, {}, deletes));
  const { size } = await stat(path);
  const rows = (list.records as { manifest_length: number }[]).map((row, index) => (index === 0 ? { ...row, manifest_length: size } : row));
  await writeFile(listed, await writeAvro(list.schema, {}, rows));
}

async function unreadable(root: string): Promise<void> {
  const { metadata } = (await fileCatalog(new DiskObjects(root)).load()) ?? {};
  const path = metadata?.snapshots?.[0]?.['manifest-list'] ?? '';
  await writeFile(path, (await readFile(path, 'latin1')).replace('deflate', 'unknown'), 'latin1');
}
