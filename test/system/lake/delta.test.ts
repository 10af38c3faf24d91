import { describe, expect, jest, test } from '@jest/globals';
import { itemAt, type OutputColumn, type Row } from '../../../src/core/index.js';
import { checkNames } from '../../../src/lake/delta/actions.js';
import { DeltaFormat } from '../../../src/lake/delta/index.js';
import type { DeltaState } from '../../../src/lake/delta/log.js';
import { DiskObjects } from '../../../src/store/disk-objects.js';
import type { ObjectStore } from '../../../src/store/index.js';
import { FormatTable, printed } from '../../support/format-table.js';
import { output } from '../../support/parquet-files.js';
import { pythonReaders } from '../../support/python.js';
import { temporaryFolder } from '../../support/temporary.js';

const { testByReaders, python } = pythonReaders('test/readers/delta.py', 'deltalake, polars, pyarrow, duckdb, duckdb_extension_delta');

type Printed = readonly Readonly<Record<string, unknown>>[];

const columns = [
  output('id', 'text'),
  output('state', 'text'),
  output('note', 'text'),
  output('n', 'integer'),
  output('x', 'decimal'),
  output('ok', 'flag'),
  output('at', 'timestamp'),
  output('day', 'date'),
];

class Table extends FormatTable<DeltaState> {
  constructor(store: ObjectStore) {
    super(new DeltaFormat(store), store, { columns, by: ['state'] });
  }

  static async onDisk(): Promise<Table> {
    return new Table(new DiskObjects(await temporaryFolder()));
  }
}

/** Rows with a few values, by id. */
const row = (id: string, state: string | null, more: Row = {}): Row => ({
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

const readers = ['delta-rs', 'arrow', 'polars', 'duckdb'];

describe('a Delta table', () => {
  testByReaders('has in every version what the readers of Delta should read', async () => {
    const table = await Table.onDisk();
    const expected: [rows: readonly Row[], of?: readonly OutputColumn[]][] = [];
    const first = [row('a', 'a b'), row('b', 'a%20b'), row('c', null), row('d', 'ü/ö=?#&+'), row('e', 'NULL'), row('e2', "it's")];
    await table.run('run-0', first);
    expected.push([first]);

    const late = [...columns, output('late', 'text')];
    const more = [row('f', 'a b', { late: 'x' }), row('g', 'ZZ', { late: null })];
    await table.run('run-1', more, { mode: 'append', columns: late });
    expected.push([[...first, ...more], late]);

    const changed = [row('h', 'a b'), row('i', null)];
    await table.run('run-2', changed, { mode: 'replace_partitions', columns: late, fileRows: 1 });
    expected.push([[...first.filter(({ id }) => id !== 'a' && id !== 'c'), ...more.slice(1), ...changed], late]);

    await table.run('run-3', [row('j', 'ZZ'), row('k', 'a b')], { mode: 'append', columns: late });
    expected.push([[...itemAt(expected, 2)[0], row('j', 'ZZ'), row('k', 'a b')], late]);

    python('optimize', table.root);
    expected.push(itemAt(expected, 3));
    const compacted = await table.format.load();
    expect(compacted).toMatchObject({ sequence: 4, current: { run: 'run-3', sha256: 'digest of run-3' } });
    expect(compacted?.files.filter(({ folder }) => folder === 'state=ZZ')).toHaveLength(1);

    await table.run('run-4', [row('l', 'a b')], { mode: 'replace_partitions', columns: late });
    expected.push([[...itemAt(expected, 3)[0].filter(({ state }) => state !== 'a b'), row('l', 'a b')], late]);

    const retyped = [output('id', 'text'), output('n', 'text'), output('state', 'text')];
    await table.run('run-5', [{ id: 'm', n: 'x', state: 'a' }], { columns: retyped });
    expected.push([[{ id: 'm', n: 'x', state: 'a' }], retyped]);

    const empty = await table.run('run-6', [], { columns: retyped });
    expected.push([[], retyped]);

    expect(empty.kept.map(({ run }) => run)).toEqual(['run-5', 'run-4']);
    const restored = await table.format.restore(empty, 'run-4');
    expected.push(itemAt(expected, 5));
    expect(restored.kept.map(({ run }) => run)).toEqual(['run-6', 'run-5']);
    expect(await table.format.load()).toEqual(restored);
    await table.run('run-7', [row('n', 'a b')], { mode: 'append', columns: late });
    expected.push([[...itemAt(expected, 5)[0], row('n', 'a b')], late]);

    const found = JSON.parse(python('read', table.root, ...[...expected.keys()].map(String))) as Record<string, Printed>;
    for (const [version, [rows, of]] of expected.entries())
      for (const reader of readers)
        expect([version, reader, found[`${version} ${reader}`]]).toEqual([version, reader, printed(rows, of ?? columns)]);
  });

  testByReaders('is skipped by no predicate that has rows: bounds of every type, partitions of every type', async () => {
    const long = '😀'.repeat(40);
    const notes = [
      '',
      "it's",
      long,
      `${long}x`,
      '\u{10ffff}'.repeat(40),
      'x'.repeat(70),
      `${'x'.repeat(63)}\uffff${'y'.repeat(9)}`,
      'ä\x01',
      null,
    ];
    const numbers = [-(2n ** 63n), 2n ** 63n - 1n, 0n, null, 2n ** 53n + 1n, 7n, -7n, 8n, 9n];
    const decimals = [-0, 0, 1e300, -5e-324, 0.1, null, 2.5, -1, 3];
    // In the years that a literal of delta-rs can have.
    const times = ['1678-01-02T00:00:00.001Z', '1969-12-31T23:59:59.999Z', '2024-01-31T00:00:00.123Z', '2261-12-30T23:59:59.999Z'];
    const days = ['0001-01-02', '1582-10-10', null, '9999-12-30'];
    const rows = notes.map((note, index) => {
      const at = times[index] === undefined ? null : new Date(itemAt(times, index));
      const day = days[index] ? new Date(itemAt(days, index) ?? '') : null;
      const ok = [true, false, null][index % 3] ?? null;
      return { id: `r${index}`, state: 'a', note, n: numbers[index] ?? null, x: decimals[index] ?? null, ok, at, day };
    });
    const table = await Table.onDisk();
    const version = await table.run('run-0', rows, { by: [], fileRows: 1 });
    expect(version.files).toHaveLength(rows.length);
    const none = Object.fromEntries(readers.map((reader) => [reader, []]));
    expect(JSON.parse(python('predicates', table.root))).toEqual(none);

    for (const options of [{ fileRows: 2 }, { known: 'nothing' }] as const) {
      const other = await Table.onDisk();
      await other.run('run-0', rows, { by: [], ...options });
      expect(JSON.parse(python('predicates', other.root))).toEqual(none);
    }

    const parted = await Table.onDisk();
    const some = rows.slice(0, 7).map((each) => ({
      ...each,
      x: each.x === null ? null : each.x + 0,
      note: each.note === '' ? 'b' : (each.note?.slice(0, 40) ?? null),
    }));
    const by = ['at', 'day', 'n', 'x', 'ok', 'note'];
    const { files } = await parted.run('run-0', some, { by });
    expect(files.map(({ folder }) => folder)).toEqual(some.map((each) => parted.folderOf(each, { by })));
    const found = JSON.parse(python('read', parted.root, '0')) as Record<string, Printed>;
    for (const reader of readers) expect([reader, found[`0 ${reader}`]]).toEqual([reader, printed(some, columns)]);
    expect(JSON.parse(python('predicates', parted.root))).toEqual(none);
  });

  test('has the actions of the protocol, a description of columns, and a transaction for each run', async () => {
    const table = await Table.onDisk();
    const described = columns.map((column) => (column.name === 'n' ? { ...column, comment: 'How many.' } : column));
    await table.run('run-0', [row('a', 'b c%'), row('b', null)], { columns: described });
    await table.run('run-1', [row('c', 'b c%')], { columns: described, mode: 'replace_partitions' });
    const log = await Promise.all(
      [0, 1].map(async (version) => JSON.parse(`[${(await commitOf(table, version)).trim().replaceAll('\n', ',')}]`) as object[]),
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

  test.each([
    [['a b'], /no column 'a b'/],
    [['a=b'], /no column 'a=b'/],
    [['Id', 'iD'], /no column iD next to/],
  ])('has no columns %j', (names, message) => {
    expect(() => checkNames('out', names)).toThrow(
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
    const table = await Table.onDisk();
    await table.run('run-0', [row('a', 'b')], { by: [] });
    const version = title.includes('begins later') ? 2 : 1;
    await table.store.create(keyOf(version), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const code = expect.stringMatching(/^E_SINK_FOREIGN$|^E_GATE_VERIFY$/);
    const refused = expect.objectContaining({ code, message: expect.stringMatching(message ?? /^$/) });
    if (message) await expect(table.format.load()).rejects.toEqual(refused);
    else expect(await table.format.load()).toMatchObject({ sequence: 1, current: { run: 'run-0' }, runs: ['run-0'] });
  });

  test('gives back its files after a week, when no kept run needs them, and restores none that is gone', async () => {
    const table = await Table.onDisk();
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
    const table = await Table.onDisk();
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

async function commitOf({ store }: Table, version: number): Promise<string> {
  return String((await store.read(keyOf(version)))?.bytes);
}
