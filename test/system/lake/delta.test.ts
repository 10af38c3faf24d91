import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, jest, test } from '@jest/globals';
import { checkDeltaNames } from '../../../src/lake/delta/actions.js';
import { verifyTable } from '../../../src/lake/index.js';
import { manifestKey } from '../../../src/lake/store-table.js';
import { rollbackTable } from '../../../src/run/index.js';
import { parquet } from '../../../src/sinks/index.js';
import type { ObjectStore } from '../../../src/store/index.js';
import { columns, DeltaTable, row } from '../../support/format-table.js';
import { column, recording } from '../../support/sinks.js';
import { storesAround } from '../../support/stores.js';
import { columns as tableColumns, rowsOf, Tested } from '../../support/tested-table.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

describe('a Delta table', () => {
  test('has the actions of the protocol, a description of columns, and a transaction for each run', async () => {
    const table = await DeltaTable.onDisk();
    const described = columns.map((column) => (column.name === 'n' ? { ...column, comment: 'How many.' } : column));
    await table.run('run-0', [row('a', 'b c%'), row('b', null)], { columns: described });
    await table.run('run-1', [row('c', 'b c%')], { columns: described, mode: 'replace_partitions' });
    const log = await Promise.all(
      [0, 1].map(async (version) => JSON.parse(`[${(await commitOf(table.store, version)).trim().replaceAll('\n', ',')}]`) as object[]),
    );
    const [first, second] = log;
    const own = (run: string) => ({
      engineInfo: expect.stringMatching(/^leadstream\//),
      leadstream: { run, sha256: `digest of ${run}`, keep: 2 },
    });
    const operationParameters = { mode: 'Overwrite', partitionBy: '["state"]' };
    expect(first).toMatchObject([
      { commitInfo: { operation: 'WRITE', operationParameters, ...own('run-0') } },
      { protocol: { minReaderVersion: 1, minWriterVersion: 2 } },
      {
        metaData: {
          format: { provider: 'parquet' },
          partitionColumns: ['state'],
          configuration: { 'delta.enableExpiredLogCleanup': 'false' },
        },
      },
      { txn: { appId: 'leadstream', version: 0 } },
      { add: { path: 'data/run-0/state=b%2520c%2525/part-00000.parquet', partitionValues: { state: 'b c%' }, dataChange: true } },
      { add: { path: 'data/run-0/state=__HIVE_DEFAULT_PARTITION__/part-00001.parquet', partitionValues: { state: null } } },
    ]);
    expect(JSON.stringify(first)).toContain(
      String.raw`{\"name\":\"n\",\"type\":\"long\",\"nullable\":true,\"metadata\":{\"comment\":\"How many.\"}}`,
    );
    expect(second).toMatchObject([
      { commitInfo: own('run-1') },
      { txn: { appId: 'leadstream', version: 1 } },
      {
        remove: {
          path: 'data/run-0/state=b%2520c%2525/part-00000.parquet',
          extendedFileMetadata: true,
          partitionValues: { state: 'b c%' },
        },
      },
      { add: { path: 'data/run-1/state=b%2520c%2525/part-00000.parquet' } },
    ]);
  });

  test('has no column of ours where another program added one of another type', async () => {
    const table = await Tested.at('delta', 'folder');
    await table.run({}, rowsOf('20240101', 'a'));
    const [first = ''] = await table.keys('_delta_log/');
    const [, , line = ''] = String((await table.objects.read(first))?.bytes).split('\n');
    const late = line.replace(
      String.raw`\"fields\":[`,
      String.raw`\"fields\":[{\"name\":\"late\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}},`,
    );
    await table.objects.put(first.replace('00000.json', '00001.json'), `${late}\n`);
    const rows = rowsOf('20240101', 'b').map((fields) => ({ ...fields, late: '1' }));
    const run = (type: 'text' | 'integer') =>
      table.run({ mode: 'append' }, rows, undefined, [...tableColumns, column('late', type, { source: 'late' })]);
    await expect(run('integer')).rejects.toMatchObject({
      code: 'E_GATE_SCHEMA',
      message: expect.stringContaining('added the column late'),
    });
    await run('text');
    expect(await table.rows()).toEqual(['a', 'b']);
  });

  test('has a log of which a run reads each version once', async () => {
    const table = await Tested.at('delta', 'folder');
    for (const night of [0, 1, 2, 3, 4]) await table.run({ mode: 'append' }, rowsOf('20240101', String(night)));
    const read: string[] = [];
    const stores = storesAround(['read'], (call, key) => {
      if (key.startsWith('_delta_log/')) read.push(key);
      return call();
    });
    await table.run({ mode: 'append' }, rowsOf('20240101', 'last'), stores);
    expect(read).toEqual(await table.keys('_delta_log/').then((keys) => keys.slice(0, -1)));
  });

  test.each([
    [['a b'], /no column 'a b'/],
    [['a=b'], /no column 'a=b'/],
    [['Id', 'iD'], /no column iD next to/],
  ])('has no columns %j', (names, message) => {
    expect(() => checkDeltaNames('out', names)).toThrow(
      expect.objectContaining({ code: 'E_SINK_VALUE', message: expect.stringMatching(message) }),
    );
  });

  const add = (more: object = {}) => ({
    add: { path: 'x.parquet', partitionValues: {}, size: 1, dataChange: false, stats: '{"numRecords":1}', ...more },
  });
  const by = (operation: string) => ({ commitInfo: { operation } });
  const removed = (path: string, dataChange: boolean) => ({ remove: { path, dataChange } });
  const features = { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: ['deletionVectors'] };
  const foreign: readonly (readonly [title: string, message: RegExp | undefined, ...lines: object[]])[] = [
    ['rows of another program', /version 1 .* another program \(MERGE\)/, by('MERGE'), add({ dataChange: true })],
    ['removed rows', /version 1 .* another program/, removed('x.parquet', true)],
    ['other columns', /another program .*column id was renamed/, { metaData: { schemaString: '{"fields":[]}', partitionColumns: [] } }],
    ['features', /protocol .*7,.*deletionVectors/, { protocol: features }],
    ['column mapping', /minReaderVersion":2,"minWriterVersion":5/, { protocol: { minReaderVersion: 2, minWriterVersion: 5 } }],
    ['files elsewhere', /outside of the table/, add({ path: 's3://other/x.parquet' })],
    ['files above', /outside of the table/, add({ path: 'a/%2e%2e/%2E%2e/x.parquet' })],
    ['files of ours', /outside of the table/, add({ path: '_leadstream/lock.json' })],
    ['files without statistics', /no number of records/, add({ stats: null })],
    ['an unknown form', /not as the protocol/, { add: { path: 1 } }],
    ['a log that begins later', /all versions from 0/, add()],
    ['a compaction', undefined, by('OPTIMIZE'), add(), removed('data/run-0/part-00000.parquet', false), { unknownAction: {} }],
    ['a compaction that was cut', /2 rows by .* not 1/, by('OPTIMIZE'), add()],
    ['nothing', /0 actions, not 1/],
    ['a vacuum', undefined, by('VACUUM END')],
  ];
  test.each(foreign)('is refused or accepted with %s', async (title, message, ...lines) => {
    const table = await DeltaTable.onDisk();
    await table.run('run-0', [row('a', 'b')], { by: [] });
    const version = title.includes('begins later') ? 2 : 1;
    await table.store.create(keyOf(version), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const code = expect.stringMatching(/^E_SINK_FOREIGN$|^E_GATE_VERIFY$/);
    const refused = expect.objectContaining({ code, message: expect.stringMatching(message ?? /^$/) });
    if (message) await expect(table.format.load()).rejects.toEqual(refused);
    else expect(await table.format.load()).toMatchObject({ sequence: 1, current: { run: 'run-0' }, runs: ['run-0'] });
  });

  test('gives back its files after a week, when no kept run needs them, and restores none that is gone', async () => {
    const table = await DeltaTable.onDisk();
    const clock = jest.spyOn(Date, 'now');
    const on = async (day: number, run: string) => {
      clock.mockReturnValue(Date.parse('2024-01-01') + day * 86_400_000);
      return table.run(run, [row(run, 'a')], { keep: 1, by: [] });
    };
    const file = (run: number) => `data/run-${run}/part-00000.parquet`;
    try {
      for (const day of [0, 1, 2]) expect(await table.format.expire(await on(day, `run-${day}`), 1, [])).toEqual([]);
      const version = await on(9, 'run-3');
      expect(await table.format.expire(version, 1, [])).toEqual([file(0), file(1)]);
      const restored = await table.format.restore(version, 'run-2');
      expect([restored.current?.run, restored.kept[0]?.run, restored.files[0]?.name]).toEqual(['run-2', 'run-3', file(2)]);
      await expect(table.format.restore(restored, 'run-1')).rejects.toMatchObject({ code: 'E_SINK_RUN' });
      for (let day = 20; day < 32; day += 1) await on(day, `run-${day}`);
      const last = await table.format.load();
      expect(last && (await table.format.expire(last, 1, []))).toEqual([2, 20, 21, 22, 23].map(file));
      await table.store.remove([file(30)]);
      await expect(last && table.format.restore(last, 'run-30')).rejects.toMatchObject({
        code: 'E_SINK_RUN',
        message: expect.stringContaining(file(30)),
      });
    } finally {
      clock.mockRestore();
    }
  });

  test('has a run once that is committed again with the base that it had, and no other run', async () => {
    const table = await DeltaTable.onDisk();
    await table.run('run-0', [row('a', 'b')]);
    const base = await table.format.load();
    const change = await table.change(base, 'run-again', [row('z', 'b')], { mode: 'append' });
    const first = await table.format.commit(base, change);
    expect(await table.format.commit(base, change)).toEqual(first);
    const locked = expect.objectContaining({ code: 'E_RUN_LOCKED' });
    for (const other of [base, undefined])
      await expect(table.format.commit(other, { ...change, runId: 'run-late' })).rejects.toEqual(locked);
  });
});

const keyOf = (version: number) => `_delta_log/${String(version).padStart(20, '0')}.json`;

async function commitOf(store: ObjectStore, version: number): Promise<string> {
  return String((await store.read(keyOf(version)))?.bytes);
}

test('a table of Delta is added to after another writer compacted it to another folder', async () => {
  const table = await Tested.at('delta', 'folder');
  await table.run({}, rowsOf('20240101', 'a', 'b'));
  const [name = ''] = await table.keys('data/');
  await cp(join(table.path, name), join(table.path, 'other.parquet'));
  const [log = ''] = await table.keys('_delta_log/');
  const lines = (await table.objects.read(log))?.bytes.toString().trim().split('\n') ?? [];
  const added = lines.find((line) => line.startsWith('{"add"')) ?? '';
  const compaction = [
    added.replace(name, 'other.parquet'),
    JSON.stringify({ remove: { path: name, dataChange: false, deletionTimestamp: 1 } }),
  ];
  await table.objects.put(log.replace('0.json', '1.json'), compaction.join('\n').replace('"dataChange":true', '"dataChange":false'));
  await table.run({ mode: 'append' }, rowsOf('20240101', 'a', 'c'));
  expect(await table.rows()).toEqual(['a', 'b', 'c']);
  await table.check();
});

test.each(['with counts', 'of earlier releases'])('a commit %s that is empty, cut or in the place of another is refused', async (kind) => {
  const by = { partition_by: ['day'], keep: 5 };
  const table = await Tested.ofNights('delta', 'folder', by);
  const { rows } = await verifyTable(table.path);
  const logs = await Promise.all([0, 1, 2, 3, 4].map((version) => commitOf(table.objects, version)));
  const bodies = kind === 'with counts' ? logs : logs.map((body) => body.replace(/,"counts":\{[^}]+\}/, ''));
  for (const [version, body] of bodies.entries()) await table.objects.put(keyOf(version), body);
  expect((await verifyTable(table.path, table.options)).differences).toEqual([]);
  // Neither the manifest nor the log of runs may know the appends below, which are taken back.
  table.hasState = false;
  for (const [version, body] of bodies.entries()) {
    const ends = [...body.matchAll(/\n/g)].map(({ index }) => index + 1).slice(0, -1);
    const cuts = [0, ...ends, ...Array.from({ length: 10 - ends.length }, (_, index) => Math.floor((body.length * (index + 1)) / 11))];
    const damaged = cuts.map((at) => ({ [version]: body.slice(0, at) }));
    const swapped = version === 0 ? [] : [{ [version]: bodies[version - 1] ?? '', [version - 1]: body }];
    for (const changes of [...damaged, ...swapped]) {
      const write = (of: object) =>
        Promise.all(Object.keys(of).map((at) => table.objects.put(keyOf(Number(at)), String(Reflect.get(of, at)))));
      await write(changes);
      const read = await table.version().then(
        ({ files }) => files.reduce((sum, file) => sum + file.rows, 0),
        () => rows,
      );
      const refused = await table.run({ ...by, mode: 'append' }, rowsOf('20240102', 'e')).then(
        () => false,
        () => true,
      );
      expect([version, changes, read, refused]).toEqual([version, changes, rows, kind === 'with counts' || refused]);
      await table.objects.remove([keyOf(5), manifestKey(table.lastRun)]);
      await write({ ...bodies });
    }
  }
  // Of a run that is only kept, nothing but a rollback needs the rows.
  for (const id of ['x', 'y']) await table.run({ ...by, mode: 'replace' }, rowsOf('20240101', id));
  for (const [version, body] of bodies.entries())
    await table.objects.put(keyOf(version), version < 4 ? body : body.replace(/.*"add".*\n/, ''));
  await expect(rollbackTable(table.path, { ...table.options, to: 'run-0005' })).rejects.toMatchObject({ code: 'E_GATE_VERIFY' });
});

test('a Delta table does not begin below a path with %, and leaves nothing there', async () => {
  const folder = await temporaryFolder();
  const opened = parquet({ path: 'a%20b/t', table: 'delta' }, recording(folder));
  await expect(opened).rejects.toMatchObject({ code: 'E_SINK_PATH', message: expect.stringContaining('%') });
  expect(await filesBelow(folder)).toEqual([]);
});
