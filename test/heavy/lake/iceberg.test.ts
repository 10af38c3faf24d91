import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { OutputColumn, Row } from '../../../src/core/index.js';
import { parseExact, stringifyExact } from '../../../src/json/index.js';
import { RestCatalog } from '../../../src/lake/iceberg/index.js';
import { DiskObjects } from '../../../src/store/disk-objects.js';
import { objectsAt } from '../../../src/store/index.js';
import { inSeaweedFS } from '../../support/in-seaweedfs.js';
import { cuttingProxy, type Fate } from '../../support/cutting-proxy.js';
import { columns, IcebergTable, printed as printedOf, seen, sharedCatalog } from '../../support/format-table.js';
import { output } from '../../support/parquet-files.js';
import { warehouse } from '../../support/seaweedfs.js';
import { pythonReaders } from '../../support/python.js';
import { temporaryFolder } from '../../support/temporary.js';

const { testByReaders, python } = pythonReaders(
  'test/readers/iceberg.py',
  'pyiceberg, pyiceberg_core, sqlalchemy, pyarrow, duckdb, duckdb_extension_iceberg, duckdb_extension_avro, duckdb_extension_httpfs',
);

class Table extends IcebergTable {
  /** What readers read of snapshots: all the same, and no predicate that skips a file with rows. */
  async read(...snapshots: readonly (number | bigint | 'main')[]): Promise<readonly (readonly Row[])[]> {
    const version = (await this.catalog.load())?.sequence;
    const path = join(this.root, `metadata/v${version}.metadata.json`);
    const found = JSON.parse(await python('read', path, ...snapshots.map(String))) as Record<
      string,
      { rows: Row[]; differences: string[] }
    >;
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

  testByReaders('has the rows of many runs, whose manifests stay or are merged', async () => {
    const table = new Table(await temporaryFolder());
    const nights = Array.from({ length: 103 }, (_, index) => ({ id: String(index), state: `state ${index % 3}` }));
    for (const [index, row] of nights.entries())
      await table.run(`r${index}`, [row], { by: ['state'], mode: index === 101 ? 'replace_partitions' : 'append', keep: 999 });
    const { snapshots } = await table.metadata();
    const of = (run: string) => snapshots.find(({ summary }) => summary['leadstream.run'] === run)?.['snapshot-id'] ?? 0;
    const replaced = printed(nights.filter(({ id: name, state }) => Number(name) >= 101 || state !== nights[101]?.state));
    const read = await table.read(of('r102'), of('r100'), of('r99'));
    expect(read).toEqual([replaced, printed(nights.slice(0, 101)), printed(nights.slice(0, 100))]);
    const version = await table.format.load();
    await table.store.remove((version && (await table.format.expire(version, 0, []))) ?? []);
    expect(await table.read(of('r102'))).toEqual([replaced]);
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
    expect(table.format.checkColumns?.(next, wide, [])?.get('late')).toBe(10);
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
    const path = (await python('rewrite', `${root}/metadata/v1.metadata.json`)).trim().replace(/^file:\/\//, '');
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

inSeaweedFS('a table of Iceberg in a REST catalog', (server) => {
  /** @param fates Those of commits, one after the other. */
  async function opened(fates: Fate[] = []) {
    const { catalog: uri } = server();
    const name = `days.leads_${randomUUID().slice(0, 8)}`;
    const isCommit = /^POST .*namespaces\/[^/]+\/tables\/./;
    const proxy = await cuttingProxy(uri, (request) => (isCommit.test(request) ? fates.shift() : undefined) ?? 'answered');
    const catalog = new RestCatalog({ uri: proxy.url, name, warehouse, credential: 'writer:writer-secret', scope: 'catalog' });
    const root = await catalog.location();
    const table = new Table(root, objectsAt(root), catalog);
    const read = async () => {
      const found: unknown = JSON.parse(await python('catalog', uri, warehouse, 'writer:writer-secret', name));
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
    expect(await read()).toEqual(['abcde', 'abcd']);
    const restored = await table.format.restore(second, 'r1');
    expect(restored).toMatchObject({ current: { run: 'r1' }, kept: [{ run: 'r2' }] });
    const change = await table.change(second, 'r3', rows, { by });
    await expect(table.format.commit(second, change)).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    const fourth = await table.run('r4', rows.slice(0, 1), { by, mode: 'append' });
    await table.store.remove(await table.format.expire(fourth, 1, []));
    expect(await read()).toEqual(['abcde', 'aabcde']);
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
