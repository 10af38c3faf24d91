import { describe, expect, test } from '@jest/globals';
import { readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Row } from '../../../src/core/index.js';
import { sha256File } from '../../../src/store/index.js';
import { engineNames } from '../../../src/parquet/index.js';
import { parquet, type ParquetOptions } from '../../../src/sinks/index.js';
import { tableRuns, verifyTable } from '../../../src/lake/index.js';
import { publishedManifest } from '../../support/parquet-files.js';
import { column, recording, writeAll } from '../../support/sinks.js';
import { duckdb } from '../../support/duckdb.js';
import { temporaryFolder } from '../../support/temporary.js';

const columns = [column('id', 'text', { source: 'id' }), column('day', 'date'), column('n', 'integer')];

let runs = 0;

/** One run of the table `t`; ids of runs go up. */
async function run(base: string, options: Partial<ParquetOptions>, rows: readonly Row[], with_ = columns) {
  runs += 1;
  const context = { ...recording(base, `run-${String(runs).padStart(4, '0')}`), key: ['id'] };
  const prepared = await writeAll(parquet({ path: 't', ...options }, context), with_, rows);
  expect((await verifyTable(join(base, 't'))).differences).toEqual([]);
  return { ...prepared, rejects: context.rejects };
}

function tableIn(base: string): Promise<Record<string, unknown>[]> {
  return duckdb(
    `SELECT id, day::text AS day, n::int AS n FROM read_parquet('${base}/t/**/*.parquet', hive_partitioning = true) ORDER BY id, n`,
  );
}

/** Puts one digest in the place of another, in all manifests. */
async function vouch(base: string, before: string, now: string): Promise<void> {
  const manifests = (await readdir(base, { recursive: true })).filter((name) => name.endsWith('.json')).map((name) => join(base, name));
  const texts = await Promise.all(manifests.map((path) => readFile(path, 'utf8')));
  expect(texts.join()).toContain(before);
  await Promise.all(manifests.map((path, index) => writeFile(path, texts[index]?.replaceAll(before, now) ?? '')));
}

/** The key index of the published run. */
async function keysOf(base: string): Promise<string> {
  return join(base, '.t.runs/_leadstream/runs', `${basename(await realpath(join(base, 't')))}.keys.bin`);
}

const rowsOf = (day: string, ...ids: string[]): Row[] => ids.map((id, index) => ({ id, day, n: String(index) }));

describe('mode: replace_partitions', () => {
  const options = { mode: 'replace_partitions', partition_by: ['day'] } as const;

  test('replaces the partitions that the run wrote and keeps the others', async () => {
    const folder = await temporaryFolder();
    await run(folder, options, [...rowsOf('20240101', 'a', 'b'), ...rowsOf('20240102', 'c')]);
    const prepared = await run(folder, options, [...rowsOf('20240102', 'x'), ...rowsOf('20240103', 'y')]);
    expect(prepared).toMatchObject({ rows: 2, total: 4 });
    expect(await tableIn(folder)).toEqual([
      { id: 'a', day: '2024-01-01', n: 0 },
      { id: 'b', day: '2024-01-01', n: 1 },
      { id: 'x', day: '2024-01-02', n: 0 },
      { id: 'y', day: '2024-01-03', n: 0 },
    ]);
  });

  test('links the files that stay instead of copying them', async () => {
    const folder = await temporaryFolder();
    await run(folder, options, rowsOf('20240101', 'a'));
    const [name = ''] = await readdir(join(folder, 't/day=2024-01-01'));
    const before = await stat(join(folder, 't/day=2024-01-01', name));
    await run(folder, options, rowsOf('20240102', 'b'));
    const [next = ''] = await readdir(join(folder, 't/day=2024-01-01'));
    const after = await stat(join(folder, 't/day=2024-01-01', next));
    expect(after.ino).toBe(before.ino);
    expect(after.nlink).toBe(2);
  });

  test('keeps their names, so that what copies the table elsewhere does not copy them again', async () => {
    const folder = await temporaryFolder();
    await run(folder, options, rowsOf('20240101', 'a'));
    const [name = ''] = await readdir(join(folder, 't/day=2024-01-01'));
    await run(folder, options, rowsOf('20240102', 'b'));
    expect(await readdir(join(folder, 't/day=2024-01-01'))).toEqual([name]);
  });

  test('leaves the table as it is when there are no rows', async () => {
    const folder = await temporaryFolder();
    await run(folder, options, rowsOf('20240101', 'a'));
    expect(await run(folder, options, [])).toMatchObject({ rows: 0, total: 1 });
    expect(await tableIn(folder)).toHaveLength(1);
  });

  test('outlives many runs, which keep linked files through the pruning of old ones', async () => {
    const folder = await temporaryFolder();
    for (let day = 1; day <= 9; day += 1) await run(folder, options, rowsOf(`2024010${day}`, `id-${day}`));
    expect(await tableIn(folder)).toHaveLength(9);
    expect(await tableRuns(join(folder, 't'))).toHaveLength(2);
    expect(await readdir(join(folder, '.t.runs/_leadstream/runs'))).toHaveLength(2);
  });

  test('refuses another partitioning, another type and a column that is gone', async () => {
    const folder = await temporaryFolder();
    await run(folder, options, rowsOf('20240101', 'a'));
    const other = { ...options, partition_by: ['n'] };
    await expect(run(folder, other, rowsOf('20240101', 'a'))).rejects.toMatchObject({
      code: 'E_GATE_SCHEMA',
      message: 'parquet: mode replace_partitions cannot keep files of the table: the table is partitioned by day, this run by n',
    });
    const retyped = [columns[0], columns[1], column('n', 'text')].filter((c) => c !== undefined);
    await expect(run(folder, options, rowsOf('20240101', 'a'), retyped)).rejects.toThrow(
      'the column n is integer in the table and text in this run',
    );
    await expect(run(folder, options, rowsOf('20240101', 'a'), columns.slice(0, 2))).rejects.toThrow(
      'the table has the column n, but this run does not',
    );
    expect(await tableIn(folder)).toHaveLength(1);
  });

  test('takes a column that was added', async () => {
    const folder = await temporaryFolder();
    await run(folder, options, rowsOf('20240101', 'a'));
    await run(folder, options, [{ id: 'b', day: '20240102', n: '1', extra: 'e' }], [...columns, column('extra')]);
    const sql = `SELECT id, extra FROM read_parquet('${folder}/t/**/*.parquet', union_by_name = true) ORDER BY id`;
    expect(await duckdb(sql)).toEqual([
      { id: 'a', extra: null },
      { id: 'b', extra: 'e' },
    ]);
  });
});

describe('mode: append', () => {
  const options = { mode: 'append' } as const;

  test('adds rows whose key the table does not have, and counts the others', async () => {
    const folder = await temporaryFolder();
    await run(folder, options, rowsOf('20240101', 'a', 'b', 'c'));
    const prepared = await run(folder, options, [
      { id: 'b', day: '20240101', n: '1' },
      { id: 'c', day: '20240101', n: '99' },
      { id: 'd', day: '20240102', n: '3' },
    ]);
    expect(prepared).toMatchObject({ rows: 1, total: 4, unchanged: 2, changed: 1 });
    expect(await tableIn(folder)).toEqual([
      { id: 'a', day: '2024-01-01', n: 0 },
      { id: 'b', day: '2024-01-01', n: 1 },
      { id: 'c', day: '2024-01-01', n: 2 },
      { id: 'd', day: '2024-01-02', n: 3 },
    ]);
  });

  test('adds nothing and no file when every row is there', async () => {
    const folder = await temporaryFolder();
    await run(folder, options, rowsOf('20240101', 'a', 'b'));
    expect(await run(folder, options, rowsOf('20240101', 'a', 'b'))).toMatchObject({ rows: 0, total: 2, unchanged: 2, changed: 0 });
    expect((await publishedManifest(join(folder, 't')))?.files).toHaveLength(1);
  });

  test.each([
    ['arrow', 'zstd'],
    ['arrow', 'gzip'],
    ['parquetjs-lite', 'snappy'],
  ] as const)('makes the key index anew from the files of %s with %s when it is lost', async (engine, compression) => {
    const folder = await temporaryFolder();
    const rows = Array.from({ length: 2_500 }, (_, n) => ({ id: `id-${n}`, day: n % 3 === 0 ? null : '19691231', n: String(n) }));
    await run(folder, { ...options, engine, compression, row_group_rows: 1_000 }, rows);
    await rm(await keysOf(folder));
    const prepared = await run(folder, options, [...rows, { id: 'new', day: null, n: null }]);
    expect(prepared).toMatchObject({ rows: 1, unchanged: 2_500, changed: 0, total: 2_501 });
  });

  test.each(engineNames)('finds the odd values of every type again in an index that was made anew from files of %s', async (engine) => {
    const folder = await temporaryFolder();
    const all = [
      ...columns,
      ...(['text', 'flag', 'integer', 'decimal', 'timestamp', 'date'] as const).map((type) => column(`a_${type}`, type)),
    ];
    const texts = ['\ufeff', '\ufeffa', '\ufeff\ufeffa', 'a\ufeff', '\u0000', ' a ', 'e\u0301', '\u{1f600}', '\ufffd', 'a'.repeat(40_000)];
    const rows: Row[] = texts.map((text, index) => ({
      id: text,
      day: '00010101',
      n: '-0',
      a_text: index % 2 === 0 ? text : '',
      a_flag: index % 2 === 0,
      a_integer: BigInt(index - 5) * (engine === 'parquetjs-lite' ? 1n : 2n ** 60n),
      a_decimal: [-0, 5e-324, 0.1, 1e300][index % 4] ?? null,
      a_timestamp: new Date(index - 5),
      a_date: new Date(Date.UTC(1969, 11, 31 - index)),
    }));
    await run(folder, { ...options, engine }, rows, all);
    for (const name of await readdir(folder, { recursive: true })) if (name.includes('keys')) await rm(join(folder, name), { force: true });
    expect(await run(folder, options, rows, all)).toMatchObject({ rows: 0, unchanged: rows.length, changed: 0, total: rows.length });
  });

  test('does not trust an index that is damaged', async () => {
    const folder = await temporaryFolder();
    await run(folder, options, rowsOf('20240101', 'a', 'b'));
    await writeFile(await keysOf(folder), 'rubbish!');
    expect(await run(folder, options, rowsOf('20240101', 'a', 'c'))).toMatchObject({ rows: 1, unchanged: 1, total: 3 });
  });

  test('does not trust an index that has lost a key to a changed bit', async () => {
    const folder = await temporaryFolder();
    await run(folder, options, rowsOf('20240101', 'a', 'b'));
    for (const name of await readdir(folder, { recursive: true })) {
      if (!name.includes('keys')) continue;
      const bytes = await readFile(join(folder, name));
      bytes.writeUInt8(bytes.readUInt8(24) ^ 1, 24);
      await writeFile(join(folder, name), bytes);
      break;
    }
    expect(await run(folder, options, rowsOf('20240101', 'a', 'b'))).toMatchObject({ rows: 0, unchanged: 2, total: 2 });
  });

  test('makes the key index anew when an earlier version wrote it, which had other digests of contents', async () => {
    const folder = await temporaryFolder();
    await run(folder, options, rowsOf('20240101', 'a', 'b'));
    const path = await keysOf(folder);
    const bytes = await readFile(path);
    const now = bytes.readUInt32LE();
    bytes.writeUInt32LE(0x6b_73_6c_01);
    for (let entry = 24; entry < bytes.length; entry += 16) bytes.writeUInt32LE(entry, entry + 12);
    const before = await sha256File(path);
    await writeFile(path, bytes);
    await vouch(folder, before, await sha256File(path));
    expect(await run(folder, options, rowsOf('20240101', 'a', 'b', 'c'))).toMatchObject({
      rows: 1,
      unchanged: 2,
      changed: 0,
      total: 3,
    });
    expect((await readFile(await keysOf(folder))).readUInt32LE()).toBe(now);
  });

  test('goes on where replace left off', async () => {
    const folder = await temporaryFolder();
    await run(folder, {}, rowsOf('20240101', 'a'));
    expect(await run(folder, options, rowsOf('20240101', 'a', 'b'))).toMatchObject({ rows: 1, unchanged: 1, total: 2 });
  });

  test('appends into partitions', async () => {
    const folder = await temporaryFolder();
    const partitioned = { ...options, partition_by: ['day'] };
    await run(folder, partitioned, rowsOf('20240101', 'a'));
    await run(folder, partitioned, [...rowsOf('20240101', 'b'), ...rowsOf('20240102', 'c')]);
    expect(await readdir(join(folder, 't/day=2024-01-01'))).toHaveLength(2);
    expect((await tableIn(folder)).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  test('refuses a key that comes twice in one run', async () => {
    const folder = await temporaryFolder();
    await expect(run(folder, options, rowsOf('20240101', 'a', 'a'))).rejects.toMatchObject({
      code: 'E_SINK_KEY',
      message: 'parquet: two rows have the same key, but append takes one row per key (id)',
    });
  });

  test('rejects a row without a key', async () => {
    const folder = await temporaryFolder();
    const { rejects, rows } = await run(folder, { ...options, on_error: 'null' }, rowsOf('20240101', 'a', ''));
    expect(rows).toBe(1);
    expect(rejects.map(([, fault]) => fault)).toEqual([{ field: 'id', reason: 'is empty, but identifies the row', page: 1, index: 1 }]);
  });

  test('takes other columns as key', async () => {
    const folder = await temporaryFolder();
    const keyed = { ...options, key: ['id', 'n'] };
    await run(folder, keyed, [{ id: 'a', day: null, n: '1' }]);
    const next = [
      { id: 'a', day: null, n: '1' },
      { id: 'a', day: null, n: '2' },
    ];
    expect(await run(folder, keyed, next)).toMatchObject({ rows: 1, unchanged: 1 });
  });

  test.each([
    ['that two of them share', ['20240101', '20240101'], 'two rows of the table have the same key'],
    ['that one of them lacks', ['20240101', ''], 'a row of the table has an empty key'],
  ])('refuses a key that does not tell the rows of the table apart: one %s', async (_what, [one = '', other = ''], message) => {
    const folder = await temporaryFolder();
    await run(folder, options, [...rowsOf(one, 'a'), ...rowsOf(other, 'b')]);
    const before = await readdir(join(folder, 't'));
    await expect(run(folder, { ...options, key: ['day'] }, rowsOf('20240102', 'c'))).rejects.toMatchObject({
      code: 'E_SINK_KEY',
      message: `${join(folder, 't')}: ${message} (day), so append cannot continue; name columns under key that identify every row, or publish the table again with mode: replace`,
    });
    expect(await readdir(join(folder, 't'))).toEqual(before);
  });
});
