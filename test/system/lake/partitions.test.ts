import { describe, expect, test } from '@jest/globals';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { parquetSink } from '../../../src/sinks/parquet.js';
import { parquetMetadataAsync, asyncBufferFromFile } from 'hyparquet';
import type { DeclaredType, Row, Value } from '../../../src/core/index.js';
import { partitionFolder as icebergFolderOf } from '../../../src/lake/iceberg/data-files.js';
import { updated } from '../../../src/lake/iceberg/file-catalog.js';
import { indexOf } from '../../../src/lake/keys.js';
import { RowShape } from '../../../src/lake/row-shape.js';
import { notForFolder, partitionBy } from '../../../src/lake/partitions.js';
import { FlatVector } from '../../../src/vector/index.js';
import { Batch } from '../../../src/vector/record-batch.js';
import { parquet, type ParquetOptions } from '../../../src/sinks/index.js';
import { verifyTable } from '../../../src/lake/index.js';
import { emptyManifest, output, publishedManifest } from '../../support/parquet-files.js';
import { pageOf } from '../../support/pages.js';
import { column, elsewhere, recording, writeAll } from '../../support/sinks.js';
import { duckdb } from '../../support/duckdb.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';
import { anyText } from '../../support/texts.js';

const columns = [column('id'), column('state'), column('n', 'integer')];

function write(base: string, options: Partial<ParquetOptions>, rows: readonly Row[], with_ = columns, context = {}) {
  return writeAll(parquet({ path: 't', partition_by: ['state'], ...options }, { ...recording(base), ...context }), with_, rows);
}

function read(base: string, what: string): Promise<Record<string, unknown>[]> {
  return duckdb(`SELECT ${what} FROM read_parquet('${base}/t/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)`);
}

describe('a partitioned table', () => {
  test('has a folder per value, and the column in the names of folders only', async () => {
    const folder = await temporaryFolder();
    await write(folder, {}, [
      { id: '1', state: 'CA', n: '1' },
      { id: '2', state: 'NY', n: '2' },
      { id: '3', state: 'CA', n: '3' },
    ]);
    expect(await readdir(join(folder, 't'))).toEqual(['state=CA', 'state=NY']);
    expect(await read(folder, "list(state || ':' || id ORDER BY id) AS rows")).toEqual([{ rows: ['CA:1', 'NY:2', 'CA:3'] }]);
    const [part = ''] = await readdir(join(folder, 't/state=CA'));
    const { schema } = await parquetMetadataAsync(await asyncBufferFromFile(join(folder, 't/state=CA', part)));
    expect(schema.slice(1).map(({ name }) => name)).toEqual(['id', 'n']);
    expect((await verifyTable(join(folder, 't'))).differences).toEqual([]);
  });

  test('gives every value back to DuckDB, whatever its characters', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyText({ minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 12 }), async (values) => {
        const folder = await temporaryFolder();
        const distinct = [...new Set(values)].filter((value) => !value.includes('\0'));
        if (distinct.length === 0) return;
        await write(
          folder,
          {},
          distinct.map((state, index) => ({ id: String(index), state, n: '1' })),
        );
        const rows = await read(folder, 'id, state');
        expect(Object.fromEntries(rows.map(({ id, state }) => [String(id), state]))).toEqual({ ...distinct });
      }),
      { numRuns: 4 },
    );
  });

  test.each([
    '..',
    '.',
    '../../x',
    '/etc',
    'a/b',
    '__HIVE_DEFAULT_PARTITION__x',
    'NULL',
    'null',
    'a=b',
    '%2F',
    ' x ',
    'x.parquet',
    "it's",
    '*',
    'ü😀',
  ])('stays below its root with the value %j and gives it back', async (state) => {
    const folder = await temporaryFolder();
    await write(folder, {}, [{ id: '1', state, n: '1' }]);
    expect(await readdir(folder)).toEqual(['.t.runs', 't']);
    expect(await readdir(join(folder, 't'))).toHaveLength(1);
    expect(await read(folder, 'state')).toEqual([{ state }]);
  });

  test('writes null and the empty text as the null of Hive', async () => {
    const folder = await temporaryFolder();
    await write(folder, {}, [
      { id: '1', state: null, n: '1' },
      { id: '2', state: '', n: '1' },
    ]);
    expect(await readdir(join(folder, 't'))).toContain('state=__HIVE_DEFAULT_PARTITION__');
    expect(await read(folder, 'id, state')).toEqual([
      { id: '1', state: null },
      { id: '2', state: null },
    ]);
  });

  test('rejects the text that Hive reads as null, for no folder can say it', async () => {
    const folder = await temporaryFolder();
    const context = recording(folder);
    const rows = [
      { id: '1', state: '__HIVE_DEFAULT_PARTITION__', n: '1' },
      { id: '2', state: 'CA', n: '1' },
    ];
    await write(folder, {}, rows, columns, context);
    expect(context.rejects).toEqual([
      [
        expect.objectContaining({ id: '1' }),
        { field: 'state', reason: "is Hive's name for null, so the folder name would mean null", page: 1, index: 0 },
      ],
    ]);
    expect(await read(folder, 'id, state')).toEqual([{ id: '2', state: 'CA' }]);
  });

  test('rejects a value that is too long for a folder name', async () => {
    const folder = await temporaryFolder();
    const context = recording(folder);
    await write(folder, {}, [{ id: '1', state: '/'.repeat(100), n: '1' }], columns, context);
    expect(context.rejects.map(([, fault]) => fault)).toEqual([
      { field: 'state', reason: 'is too long for a folder name', page: 1, index: 0 },
    ]);
  });

  test('takes typed columns, several levels and the date of the run', async () => {
    const folder = await temporaryFolder();
    const typed = [column('id'), column('day', 'date'), column('ok', 'flag'), column('at', 'timestamp')];
    await write(
      folder,
      { partition_by: ['{{ run.date }}', 'day', 'ok', 'at'] },
      [{ id: '1', day: '20240131', ok: 'yes', at: '1706659200' }],
      typed,
      { runDate: () => '2024-02-01' },
    );
    const [part = ''] = (await filesBelow(join(folder, '.t.runs/run-1'))).filter((name) => name.endsWith('.parquet'));
    expect(part).toBe('run_date=2024-02-01/day=2024-01-31/ok=true/at=2024-01-31T00%3A00%3A00.000Z/part-00000-run-1.parquet');
    expect(await duckdb(`SELECT * FROM read_parquet('${folder}/t/**/*.parquet', hive_partitioning = true)`)).toMatchObject([
      { id: '1', ok: 'true' },
    ]);
  });

  test.each([
    ['arrow', ['state']],
    ['parquetjs-lite', ['{{ run.date }}', 'state']],
  ] as const)('of %s has one file at its root with every column when there are no rows, by %j', async (engine, by) => {
    const folder = await temporaryFolder();
    const all = [column('id'), column('state', 'flag', { original: 'The State' }), column('n', 'integer')];
    await write(folder, { engine, partition_by: by, sort_by: engine === 'parquetjs-lite' ? [] : ['n'], naming: 'original' }, [], all, {
      runDate: () => '2024-02-01',
    });
    expect(await filesBelow(join(folder, '.t.runs/run-1'))).toEqual(['part-00000-run-1.parquet']);
    const described = await duckdb(`DESCRIBE SELECT * FROM '${folder}/t/**/*.parquet'`);
    const found = Object.fromEntries(described.map((one) => [one['column_name'], one['column_type']]));
    const date = by.length === 2 ? { run_date: 'DATE' } : {};
    expect(found).toEqual({ id: 'VARCHAR', state: 'BOOLEAN', n: 'BIGINT', ...date });
    expect(await publishedManifest(join(folder, 't'))).toMatchObject({ rows: 0, files: [{ rows: 0 }] });
    expect((await verifyTable(join(folder, 't'))).differences).toEqual([]);
  });

  test.each(['append', 'replace_partitions', 'replace'] as const)(
    'loses that file with the first run of mode: %s that has rows',
    async (mode) => {
      const folder = await temporaryFolder();
      const keyed = [column('id', 'text', { source: 'id' }), ...columns.slice(1)];
      const night = (run: number, ...rows: Row[]) => write(folder, { mode }, rows, keyed, { runId: `run-${run}`, key: ['id'] });
      const parts = async () => (await filesBelow(join(folder, 't/'))).filter((name) => name.endsWith('.parquet'));
      await night(1);
      expect(await parts()).toEqual(['part-00000-run-1.parquet']);
      await night(2);
      expect(await parts()).toEqual(['part-00000-run-2.parquet']);
      await night(3, { id: '1', state: 'CA', n: '1' });
      expect(await parts()).toEqual(['state=CA/part-00000-run-3.parquet']);
      if (mode !== 'replace') await night(4);
      expect(await read(folder, 'id, state')).toEqual([{ id: '1', state: 'CA' }]);
    },
  );

  test('refuses that every column is in partition_by', async () => {
    const folder = await temporaryFolder();
    await expect(write(folder, {}, [], [column('state')])).rejects.toMatchObject({ code: 'E_SINK_VALUE' });
    expect(await readdir(folder)).toEqual([]);
  });

  test('has every row once although there are more partitions than files may be open', async () => {
    const folder = await temporaryFolder();
    const count = 400;
    const rows = Array.from({ length: count }, (_, n) => ({ id: String(n), state: `s${(n * 7) % 40}`, n: String(n) }));
    await write(folder, { row_group_rows: 30 }, rows);
    expect(await read(folder, 'count(*)::int AS rows, count(DISTINCT n)::int AS different, count(DISTINCT state)::int AS states')).toEqual([
      { rows: count, different: count, states: 40 },
    ]);
    expect((await verifyTable(join(folder, 't'))).differences).toEqual([]);
  });

  const several = { partition_by: ['state'], row_group_rows: 20, file_max_bytes: 900 } as const;
  test.each<[string, Partial<ParquetOptions>]>([
    ['with more partitions than files may be open', several],
    ['with row groups closed by their texts', { ...several, row_group_rows: 1_000, row_group_bytes: 700 }],
    ['sorted', { ...several, row_group_bytes: 700, sort_by: ['n desc'] }],
    ['by parquetjs-lite', { ...several, row_group_bytes: 700, engine: 'parquetjs-lite' }],
    ['without partitions', { partition_by: [], row_group_rows: 20, file_max_bytes: 900, row_group_bytes: 2_000 }],
    ['without partitions, sorted', { partition_by: [], row_group_bytes: 2_000, sort_by: ['state', 'n desc'] }],
  ])('has the same files and bytes whatever the size of pages, %s', async (_how, options) => {
    const rows = Array.from({ length: 300 }, (_, n) => {
      const hash = Math.imul(n + 1, 2_654_435_761) >>> 8;
      const state = hash % 3 === 0 ? 'much' : `s${hash % 41}`;
      return { id: 'é'.repeat(n % 250 === 0 ? 900 : hash % 20), state, n: hash % 7 === 0 ? null : String(n) };
    });
    const sum = rows.reduce((total, { n }) => total + Number(n), 0);
    const filesOf = async (pageRows: number) => {
      const folder = await temporaryFolder();
      const pages = Array.from({ length: Math.ceil(rows.length / pageRows) }, (_, page) =>
        rows.slice(page * pageRows, (page + 1) * pageRows),
      );
      await writeAll(parquet({ path: 't', ...options }, recording(folder)), columns, ...pages);
      return { folder, files: (await publishedManifest(join(folder, 't')))?.files };
    };
    const { folder, files } = await filesOf(rows.length);
    expect(files?.length).toBeGreaterThan(options.file_max_bytes === undefined ? 0 : 5);
    expect(await read(folder, 'count(*)::int AS rows, sum(n)::int AS sum')).toEqual([{ rows: rows.length, sum }]);
    for (const pageRows of [111, 30, 1]) expect((await filesOf(pageRows)).files).toEqual(files);
  });
});

describe('a run of a partitioned table that is not published', () => {
  test('leaves nothing, not even empty folders, after an abort', async () => {
    const folder = await temporaryFolder();
    const writer = await parquet({ path: 't', partition_by: ['state'], row_group_rows: 1 }, recording(folder));
    await writer.begin(columns);
    await writer.write(pageOf(1, [{ id: '1', state: 'CA', n: '1' }]));
    await writer.abort();
    expect(await filesBelow(folder)).toEqual([]);
  });

  test('and was killed is cleared away with its folders by the next one', async () => {
    const folder = await temporaryFolder();
    const killed = await elsewhere(parquetSink, { path: 't', partition_by: ['state'], row_group_rows: 1 })(recording(folder, 'run-0'));
    await killed.begin(columns);
    await killed.write(pageOf(1, [{ id: '1', state: 'CA', n: '1' }]));
    await write(folder, {}, [{ id: '1', state: 'NY', n: '1' }]);
    expect(await readdir(join(folder, '.t.runs/data'))).toEqual(['run-1']);
    expect((await readdir(join(folder, '.t.runs'))).sort()).toEqual(['_leadstream', 'data', 'run-1']);
    await killed.abort();
  });
});

test('a partition is not named like another column of the files', async () => {
  const folder = await temporaryFolder();
  const two = [column('state', 'text', { original: 'S' }), column('id', 'text', { original: 'State' })];
  await expect(write(folder, { naming: 'original' }, [], two)).rejects.toMatchObject({
    code: 'E_SINK_VALUE',
    message: expect.stringContaining('the partition state and the column State'),
  });
});

test('{{ run.date }} does not go with a column run_date', async () => {
  const folder = await temporaryFolder();
  const options = { partition_by: ['{{ run.date }}'] };
  await expect(write(folder, options, [], [column('id'), column('run_date')])).rejects.toMatchObject({ code: 'E_SINK_VALUE' });
});

describe('files', () => {
  test('are rolled by bytes at the end of a row group', async () => {
    const folder = await temporaryFolder();
    const rows = Array.from({ length: 1_000 }, (_, n) => ({ id: `${n}-${Math.imul(n, 2_654_435_761)}`.repeat(20), state: 'x', n: '1' }));
    await write(folder, { partition_by: [], compression: 'none', row_group_rows: 100, file_max_bytes: 60_000 }, rows);
    const files = (await publishedManifest(join(folder, 't')))?.files ?? [];
    expect(files.length).toBeGreaterThan(2);
    expect(files.every(({ rows }) => rows % 100 === 0)).toBe(true);
    expect((await read(folder, 'count(*)::int AS rows'))[0]).toEqual({ rows: 1_000 });
  });

  test('belong to their owner alone unless asked', async () => {
    const folder = await temporaryFolder();
    await write(folder, {}, [{ id: '1', state: 'CA', n: '1' }]);
    const runs = join(folder, '.t.runs');
    for (const name of await filesBelow(runs)) {
      const found = await stat(join(runs, name));
      expect([name, (found.mode & 0o777).toString(8)]).toEqual([name, found.isDirectory() ? '700' : '600']);
    }
    expect(((await stat(runs)).mode & 0o777).toString(8)).toBe('700');
  });

  test('get other permissions in the next run, carried ones too', async () => {
    const folder = await temporaryFolder();
    const options = { mode: 'replace_partitions' } as const;
    await write(folder, { ...options, permissions: '0400' }, [{ id: '1', state: 'CA', n: '1' }]);
    await write(folder, { ...options, permissions: '0644' }, [{ id: '2', state: 'NY', n: '1' }], columns, { runId: 'run-2' });
    const parts = (await filesBelow(join(folder, '.t.runs/run-2'))).filter((name) => name.endsWith('.parquet'));
    expect(parts).toHaveLength(2);
    for (const part of parts) expect(((await stat(join(folder, '.t.runs/run-2', part))).mode & 0o777).toString(8)).toBe('644');
    expect(((await stat(join(folder, '.t.runs'))).mode & 0o777).toString(8)).toBe('755');
  });

  test('have the permissions asked for, and folders the right to enter', async () => {
    const folder = await temporaryFolder();
    await write(folder, { permissions: '0644' }, [{ id: '1', state: 'CA', n: '1' }]);
    const mode = async (name: string) => ((await stat(join(folder, name))).mode & 0o777).toString(8);
    expect(await mode('.t.runs')).toBe('755');
    expect(await mode('t/state=CA')).toBe('755');
    expect(await mode('t/state=CA/part-00000-run-1.parquet')).toBe('644');
    expect(await mode('.t.runs/_leadstream/runs/run-1.json')).toBe('644');
  });
});

/** Each value with its folder and what a manifest of Iceberg has for it. */
const levels: readonly [by: string, type: DeclaredType, rows: readonly [value: Value, folder: string, result: Value][]][] = [
  [
    'when',
    'text',
    [
      [null, 'when=__HIVE_DEFAULT_PARTITION__', null],
      ['', 'when=%E2%88%85', ''],
      ['∅', 'when=∅', '∅'],
      ['%E2%88%85', 'when=%25E2%2588%2585', '%E2%88%85'],
    ],
  ],
  [
    'month(when)',
    'timestamp',
    [
      [null, 'when_month=__HIVE_DEFAULT_PARTITION__', null],
      [new Date('1969-12-31T23:59:59.999Z'), 'when_month=1969-12', -1n],
      [new Date('1970-01-31T23:59:59.999Z'), 'when_month=1970-01', 0n],
      [new Date('2024-02-29T12:00:00Z'), 'when_month=2024-02', 649n],
      [new Date('0001-01-01T00:00:00Z'), 'when_month=0001-01', -23_628n],
    ],
  ],
  [
    'day(when)',
    'timestamp',
    [
      [new Date('1969-12-31T23:59:59.999Z'), 'when_day=1969-12-31', -1n],
      [new Date('2024-02-29T23:59:59.999Z'), 'when_day=2024-02-29', 19_782n],
    ],
  ],
  ['when', 'decimal', [[-0, 'when=0', 0]]],
  ['day(when)', 'date', [[new Date('2024-02-29T00:00:00Z'), 'when_day=2024-02-29', 19_782n]]],
  ['when', 'date', [[new Date('2024-02-29T00:00:00Z'), 'when=2024-02-29', new Date('2024-02-29T00:00:00Z')]]],
];

describe('for Iceberg', () => {
  test('a month and a column with one name are refused by name', async () => {
    const with_ = [column('id'), column('ts', 'timestamp'), column('ts_month')];
    const rows = [{ id: '1', ts: '1700000000', ts_month: 'x' }];
    for (const by of [['month(ts)'], ['month(ts)', 'ts_month']]) {
      const writing = write(await temporaryFolder(), { table: 'iceberg', partition_by: by }, rows, with_);
      await expect(writing).rejects.toMatchObject({
        code: 'E_SINK_VALUE',
        message: expect.stringContaining('column ts_month have the same name'),
      });
    }
  });

  test.each(levels)('%s of a %s makes a partition per result, and the column stays', (by, type, rows) => {
    const partitioning = partitionBy([output('id', 'text'), output('when', type)], [by], '2024-01-15', 'iceberg');
    const doubled = [...rows, ...rows].map(([value]) => value);
    const parts = partitioning.split(new Batch(doubled.length, [new FlatVector(doubled.map(() => 'x')), new FlatVector(doubled)]));
    expect(parts.map(({ folder }) => [folder, partitioning.valuesOf(folder)])).toEqual(
      rows.map(([, folder, result]) => [folder, [result]]),
    );
    expect(parts.map(({ batch }) => [batch.rows, batch.columns.length])).toEqual(rows.map(() => [2, 2]));
    expect(partitioning.columns).toEqual(partitioning.inFiles);
  });

  test('a month or day needs an instant or a day', () => {
    for (const field of ['id', 'missing']) {
      const refused = () => partitionBy([output('id', 'text')], [`day(${field})`], '2024-01-15', 'iceberg');
      expect(refused).toThrow(`day(${field}) in partition_by needs a timestamp or date`);
    }
  });
});

test('a partition of Delta is never an empty text, which it takes for null', () => {
  const refusals = ['', null, 'x'].map((value) => notForFolder('state', value, 'text', 'delta'));
  expect(refusals).toEqual(['is empty, which Delta takes for null in a column of partition_by', undefined, undefined]);
});

describe('instants of other programs that milliseconds do not hold', () => {
  const instants = ['00:00:00', '00:00:00.000001', '00:00:00.001'];

  test('are keys of their own', async () => {
    const file = join(await temporaryFolder(), 'others.parquet');
    const rows = instants.map((time) => `SELECT TIMESTAMPTZ '2024-05-05 ${time}Z' AS ts`).join(' UNION ALL ');
    await duckdb(`COPY (${rows}) TO '${file}' (FORMAT parquet)`);
    const before = { ...emptyManifest, schema: [output('ts', 'timestamp')], rows: 3, files: [{ name: file, rows: 3, bytes: 1 }] };
    const landing = {
      ...{ at: 't', path: 't', before },
      keys: () => Promise.resolve(undefined),
      reading: <T>(_: string, work: (path: string) => T) => work(file),
    };
    const index = await indexOf(landing, new RowShape(before.schema, ['ts'], [], []), 'append');
    const added = (time: string) => index.take(new Batch(1, [new FlatVector([new Date(`2024-05-05T${time}Z`)])]), false).rows;
    expect([index.rows, added('00:00:00'), added('00:00:00.001'), added('00:00:00.002'), index.changed]).toEqual([3, 0, 0, 1, 0]);
  });

  test('are partitions of their own', () => {
    const schema = { type: 'struct' as const, 'schema-id': 0, fields: [{ id: 1, name: 'ts', required: false, type: 'timestamptz' }] };
    const spec = { 'spec-id': 0, fields: [{ 'source-id': 1, 'field-id': 1000, name: 'ts', transform: 'identity' }] };
    const metadata = updated(undefined, [
      { action: 'add-schema', schema, 'last-column-id': 1 },
      { action: 'add-spec', spec },
    ]);
    const micros = instants.map((time) => BigInt(Date.parse(`2024-05-05T${time.slice(0, 12)}Z`)) * 1000n + BigInt(time.slice(12) || 0));
    const folders = micros.map((ts) => icebergFolderOf(metadata, 0, { partition: { ts } }));
    expect(new Set(folders).size).toBe(3);
  });
});
