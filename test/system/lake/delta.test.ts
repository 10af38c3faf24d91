import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
import { itemAt, textOf, type OutputColumn, type Row, type Value } from '../../../src/core/index.js';
import { checkNames } from '../../../src/lake/delta/actions.js';
import { DeltaFormat } from '../../../src/lake/delta/index.js';
import type { AddedFile, TableChange } from '../../../src/lake/format.js';
import type { Manifest } from '../../../src/lake/manifest.js';
import { folderName } from '../../../src/lake/partitions.js';
import { footerOf, statisticsOf } from '../../../src/parquet/index.js';
import { DiskObjects } from '../../../src/store/disk-objects.js';
import { sha256File, type ObjectBody, type ObjectStore } from '../../../src/store/index.js';
import { S3Objects } from '../../../src/store/s3.js';
import { emptyManifest, fileOf, output } from '../../support/parquet-files.js';
import { bucket, seaweedfs, seaweedfsMissing } from '../../support/seaweedfs.js';
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

interface RunOptions {
  readonly mode?: Manifest['mode'];
  readonly by?: readonly string[];
  readonly columns?: readonly OutputColumn[];
  readonly keep?: number;
  /** What is known of columns: their bounds, by default. */
  readonly known?: 'nothing';
  /** Rows of a file, at most. */
  readonly fileRows?: number;
}

/** A table, and the runs that write it as the lake does. */
class Table {
  readonly format;

  constructor(readonly store: ObjectStore) {
    this.format = new DeltaFormat(store);
  }

  static async onDisk(): Promise<Table> {
    return new Table(new DiskObjects(await temporaryFolder()));
  }

  get root(): string {
    return this.store.root;
  }

  async run(runId: string, rows: readonly Row[], options: RunOptions = {}) {
    const base = await this.format.load();
    const change = await this.change(runId, rows, options);
    const folders = new Set(change.added.map(({ partition }) => folderOf(options, partition)));
    const removed = (base?.files ?? []).filter(({ folder = '', rows: count }) => {
      return { replace: true, append: count === 0, replace_partitions: count === 0 || folders.has(folder) }[options.mode ?? 'replace'];
    });
    return this.format.commit(base, { ...change, removed: removed.map(({ name }) => name) });
  }

  async change(runId: string, rows: readonly Row[], { mode = 'replace', by = ['state'], keep = 2, ...options }: RunOptions = {}) {
    const { columns: all = columns, fileRows = Infinity, known } = options;
    const inFiles = rows.length === 0 ? all : all.filter(({ field }) => !by.includes(field));
    const parts = new Map<string, Row[]>(rows.length === 0 ? [['', []]] : []);
    for (const row of rows) {
      const folder = folderOf({ by, columns: all }, valuesOf(row, by));
      parts.set(folder, [...(parts.get(folder) ?? []), row]);
    }
    const added: AddedFile[] = [];
    for (const [folder, some] of parts)
      for (let from = 0; from === 0 || from < some.length; from += fileRows)
        added.push(await this.#file(runId, folder, some.slice(from, from + fileRows), inFiles, by, added.length, known));
    const manifest = { ...emptyManifest, run_id: runId, mode, partition_by: [...by] };
    return { runId, manifest, sha256: `sha-${runId}`, columns: all, partitions: [], added, removed: [], keep } satisfies TableChange;
  }

  async #file(
    run: string,
    folder: string,
    rows: readonly Row[],
    inFiles: readonly OutputColumn[],
    by: readonly string[],
    index: number,
    known: RunOptions['known'],
  ) {
    const path = await fileOf(await temporaryFolder(), inFiles, rows);
    const content = { bytes: (await stat(path)).size, sha256: await sha256File(path) };
    const name = join('data', run, folder, `part-${String(index).padStart(5, '0')}.parquet`);
    await this.store.upload(name, { path, ...content });
    const footer = await footerOf(path);
    if (!footer) throw new Error('no footer');
    const partition = rows.length === 0 ? [] : valuesOf(itemAt(rows, 0), by);
    const statistics = known === 'nothing' ? new Map() : statisticsOf(footer, inFiles);
    return { name, rows: rows.length, ...content, written_by: run, partition, statistics };
  }
}

const valuesOf = (row: Row, by: readonly string[]) => by.map((field) => row[field] ?? null);

function folderOf({ by = ['state'], columns: all = columns }: RunOptions, partition: readonly Value[]): string {
  const typeOf = (name: string) => all.find(({ field }) => field === name)?.type ?? 'text';
  return by.map((name, index) => folderName({ name, transform: 'identity' }, partition[index] ?? null, typeOf(name), 'delta')).join('/');
}

/** Rows as the script prints them. */
function printed(rows: readonly Row[], of: readonly OutputColumn[] = columns): Printed {
  const text = (value: Value, type: OutputColumn['type']) =>
    value === null || typeof value === 'boolean' || typeof value === 'number'
      ? value
      : textOf(value, type)?.replace(/(?<=T.*)Z$/, '+00:00');
  const found = rows.map((row) => Object.fromEntries(of.map(({ name, type }) => [name, text(row[name] ?? null, type)])));
  return found.sort((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1));
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
    expect(compacted).toMatchObject({ sequence: 4, current: { run: 'run-3', sha256: 'sha-run-3' } });
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
      for (const reader of readers) expect([version, reader, found[`${version} ${reader}`]]).toEqual([version, reader, printed(rows, of)]);
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
    expect(files.map(({ folder }) => folder)).toEqual(some.map((each) => folderOf({ by }, valuesOf(each, by))));
    const found = JSON.parse(python('read', parted.root, '0')) as Record<string, Printed>;
    for (const reader of readers) expect([reader, found[`0 ${reader}`]]).toEqual([reader, printed(some)]);
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
      leadstream: { run, sha256: `sha-${run}`, keep: 2 },
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
  const foreign: readonly [title: string, version: number, lines: readonly object[], message: RegExp | undefined][] = [
    [
      'rows of another program',
      1,
      [{ commitInfo: { operation: 'MERGE' } }, add({ dataChange: true })],
      /version 1 .* another program \(MERGE\)/,
    ],
    ['removed rows', 1, [{ remove: { path: 'x.parquet', dataChange: true } }], /version 1 .* another program/],
    [
      'other columns',
      1,
      [{ metaData: { schemaString: '{"fields":[]}', partitionColumns: [] } }],
      /another program .*column id was renamed/,
    ],
    [
      'features',
      1,
      [{ protocol: { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: ['deletionVectors'] } }],
      /protocol .*7,.*deletionVectors/,
    ],
    ['column mapping', 1, [{ protocol: { minReaderVersion: 2, minWriterVersion: 5 } }], /minReaderVersion":2,"minWriterVersion":5/],
    ['files elsewhere', 1, [add({ path: 's3://other/x.parquet' })], /outside of the table/],
    ['files above', 1, [add({ path: 'a/%2e%2e/%2E%2e/x.parquet' })], /outside of the table/],
    ['files of ours', 1, [add({ path: '_leadstream/lock.json' })], /outside of the table/],
    ['files without statistics', 1, [add({ stats: null })], /no number of records/],
    ['an unknown form', 1, [{ add: { path: 1 } }], /not as the protocol/],
    ['a log that begins later', 2, [add()], /all versions from 0/],
    [
      'a compaction',
      1,
      [
        { commitInfo: { operation: 'OPTIMIZE' } },
        add(),
        { remove: { path: 'data/run-0/part-00000.parquet', dataChange: false } },
        { unknownAction: {} },
      ],
      undefined,
    ],
    ['a compaction that was cut', 1, [{ commitInfo: { operation: 'OPTIMIZE' } }, add()], /2 rows by .* not 1/],
    ['nothing', 1, [], /0 actions, not 1/],
    ['a vacuum', 1, [{ commitInfo: { operation: 'VACUUM END' } }], undefined],
  ];
  test.each(foreign)('is refused or accepted with %s', async (_title, version, lines, message) => {
    const table = await Table.onDisk();
    await table.run('run-0', [row('a', 'b')], { by: [] });
    await table.store.create(keyOf(version), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const code = expect.stringMatching(/^E_SINK_FOREIGN$|^E_GATE_VERIFY$/);
    const refused = expect.objectContaining({ code, message: expect.stringMatching(message ?? /^$/) });
    if (message) await expect(table.format.load()).rejects.toEqual(refused);
    else expect(await table.format.load()).toMatchObject({ sequence: 1, current: { run: 'run-0' }, runs: ['run-0'] });
  });

  testByReaders('is refused with rows, and with features, by delta-rs', async () => {
    for (const [verb, message] of [
      ['append', /\(WRITE\)/],
      ['feature', /protocol .*deletionVectors/],
    ] as const) {
      const table = await Table.onDisk();
      await table.run('run-0', [row('a', 'b')]);
      python('vacuum', table.root);
      expect(await table.format.load()).toMatchObject({ current: { run: 'run-0' } });
      python(verb, table.root);
      const refused = { code: 'E_SINK_FOREIGN', message: expect.stringMatching(message) };
      await expect(table.format.load()).rejects.toEqual(expect.objectContaining(refused));
    }
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
      for (const day of [0, 1, 2]) expect(await table.format.expire(await on(day, `run-${day}`))).toEqual([]);
      const version = await on(9, 'run-3');
      expect(await table.format.expire(version)).toEqual([file(0), file(1)]);
      const restored = await table.format.restore(version, 'run-2');
      expect([restored.current?.run, restored.kept[0]?.run, restored.files[0]?.name]).toEqual(['run-2', 'run-3', file(2)]);
      await expect(table.format.restore(restored, 'run-1')).rejects.toMatchObject({ code: 'E_SINK_RUN' });
      for (let day = 20; day < 32; day += 1) await on(day, `run-${day}`);
      const last = await table.format.load();
      expect(last && (await table.format.expire(last))).toEqual([2, 20, 21, 22, 23].map(file));
      await table.store.remove([file(30)]);
      await expect(last && table.format.restore(last, 'run-30')).rejects.toMatchObject({
        code: 'E_SINK_RUN',
        message: expect.stringContaining(file(30)),
      });
    } finally {
      clock.mockRestore();
    }
  });
});

const places: readonly (readonly [string, () => Promise<ObjectStore>])[] = [
  ['a folder', async () => new DiskObjects(await temporaryFolder())],
  ...(seaweedfsMissing === undefined ? ([['a bucket of SeaweedFS', bucketPlace]] as const) : []),
];

async function bucketPlace(): Promise<ObjectStore> {
  Object.assign(process.env, (await seaweedfs()).env);
  return new S3Objects(`s3://${bucket}/${randomUUID()}`, {});
}

if (seaweedfsMissing !== undefined) test.skip(`a Delta table in a bucket: ${seaweedfsMissing}`, () => {});

describe.each(places)('a Delta table in %s', (_, placed) => {
  const before = { ...process.env };

  afterAll(() => {
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
    Object.assign(process.env, before);
  });

  test('has a run once, whatever became of the request and of its answer', async () => {
    const store = await placed();
    await new Table(store).run('run-0', [row('a', 'b')]);
    const lost = new Error('no answer');
    const failing: Record<string, (key: string, body: ObjectBody, attempts: number) => Promise<string>> = {
      'applied, answer lost': async (key, body) => store.create(key, body).then(() => Promise.reject(lost)),
      'lost once, then applied': (key, body, attempts) => (attempts === 1 ? Promise.reject(lost) : store.create(key, body)),
      'applied once, then asked again': (key, body, attempts) =>
        store.create(key, body).then((made) => (attempts === 1 ? Promise.reject(lost) : made)),
    };
    for (const [title, create] of Object.entries(failing)) {
      let attempts = 0;
      const table = new Table(withCreate(store, (key, body) => create(key, body, (attempts += 1))));
      const before = await table.format.load();
      const after = await table.run(title, [row('a', 'b')], { mode: 'append' });
      expect(after).toEqual(await table.format.load());
      expect([after.sequence, after.current?.run]).toEqual([(before?.sequence ?? 0) + 1, title]);
    }

    // Not even the look-up had an answer: the caller commits again, with the base that it had.
    const base = await new Table(store).format.load();
    const change = await new Table(store).change('run-again', [row('z', 'b')], { mode: 'append' });
    const first = await new DeltaFormat(store).commit(base, change);
    expect(await new DeltaFormat(store).commit(base, change)).toEqual(first);
    const locked = expect.objectContaining({ code: 'E_RUN_LOCKED' });
    await expect(new DeltaFormat(store).commit(base, { ...change, runId: 'run-late' })).rejects.toEqual(locked);
    await expect(new DeltaFormat(store).commit(undefined, { ...change, runId: 'run-late' })).rejects.toEqual(locked);
  });

  test('has the rows of those runs that committed, of ten at once', async () => {
    const store = await placed();
    const committed: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const runs = Array.from({ length: 10 }, (_, index) => `run-${round}-${index}`);
      const ended = await Promise.allSettled(runs.map((run) => new Table(store).run(run, [row(run, 'a')], { mode: 'append' })));
      committed.push(...runs.filter((_, index) => ended[index]?.status === 'fulfilled'));
      for (const end of ended) expect(end).toMatchObject(end.status === 'fulfilled' ? {} : { reason: { code: 'E_RUN_LOCKED' } });
    }
    const { sequence, runs, files = [] } = (await new Table(store).format.load()) ?? {};
    expect([sequence, new Set(runs)]).toEqual([committed.length - 1, new Set(committed)]);
    expect(new Set(files.map(({ name }) => name.split('/')[1]))).toEqual(new Set(committed));
  });
});

const keyOf = (version: number) => `_delta_log/${String(version).padStart(20, '0')}.json`;

async function commitOf({ store }: Table, version: number): Promise<string> {
  return String((await store.read(keyOf(version)))?.bytes);
}

function withCreate(store: ObjectStore, create: ObjectStore['create']): ObjectStore {
  return new Proxy(store, {
    get: (of, name) => {
      const found: unknown = Reflect.get(of, name);
      return name === 'create' ? create : typeof found === 'function' ? found.bind(of) : found;
    },
  });
}
