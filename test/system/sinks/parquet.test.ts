import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Column, Row } from '../../../src/core/index.js';
import { engineNames } from '../../../src/parquet/index.js';
import { parquet, type ParquetOptions } from '../../../src/sinks/index.js';
import { pageOf } from '../../support/pages.js';
import { column, recording, writeAll } from '../../support/sinks.js';
import { duckdb } from '../../support/duckdb.js';
import { temporaryFolder } from '../../support/temporary.js';

const codecs = ['snappy', 'gzip', 'none'] as const;

const columns = [
  column('zip'),
  column('ok', 'flag', { original: 'LEAD OK' }),
  column('age', 'integer'),
  column('share', 'decimal'),
  column('moment', 'timestamp'),
  column('day', 'date'),
  column('nothing', 'integer'),
];

const rows: readonly Row[] = [
  { zip: '00501', ok: 'yes', age: '42', share: '0.1', moment: '1700000000', day: '20240229', nothing: '' },
  { zip: '', ok: '0', age: '-9007199254740991', share: '-1e300', moment: '-1', day: '19691231', nothing: null },
  { zip: 'Zoë 😀', ok: '', age: '9007199254740991', share: '5', moment: '0', day: '00010101' },
  { zip: null, ok: null, age: null, share: null, moment: null, day: null, nothing: null },
];

/** Publishes rows as one page and asks DuckDB about them; `$` in the query is the table. */
async function asked(
  sql: string,
  options: Partial<ParquetOptions>,
  columns: readonly Column[],
  ...pages: (readonly Row[])[]
): Promise<Record<string, unknown>[]> {
  const folder = await temporaryFolder();
  await writeAll(parquet({ path: 'lake/t', ...options }, recording(folder)), columns, ...pages);
  return await duckdb(sql.replaceAll('$', `'${join(folder, 'lake/t/*.parquet')}'`));
}

describe.each(engineNames)('parquet by %s', (engine) => {
  test('gives every declared type the type that readers expect', async () => {
    const found = await asked('SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM $)', { engine }, columns, rows);
    expect(found.map((row) => row['column_type'])).toEqual([
      'VARCHAR',
      'BOOLEAN',
      'BIGINT',
      'DOUBLE',
      engine !== 'parquetjs-lite' ? 'TIMESTAMP WITH TIME ZONE' : 'TIMESTAMP',
      'DATE',
      'BIGINT',
    ]);
  });

  test.each(codecs)('reads back in DuckDB as it was written, with codec %s', async (compression) => {
    const sql = 'SELECT zip, ok, age::VARCHAR AS age, share, epoch_us(moment)::VARCHAR AS moment, day::VARCHAR AS day, nothing FROM $';
    expect(await asked(sql, { engine, compression }, columns, rows)).toEqual([
      { zip: '00501', ok: true, age: '42', share: 0.1, moment: '1700000000000000', day: '2024-02-29', nothing: null },
      { zip: '', ok: false, age: '-9007199254740991', share: -1e300, moment: '-1000000', day: '1969-12-31', nothing: null },
      { zip: 'Zoë 😀', ok: null, age: '9007199254740991', share: 5, moment: '0', day: '0001-01-01', nothing: null },
      { zip: null, ok: null, age: null, share: null, moment: null, day: null, nothing: null },
    ]);
  });

  test('keeps the schema when there are no rows', async () => {
    expect(await asked('SELECT column_name FROM (DESCRIBE SELECT * FROM $)', { engine }, columns)).toHaveLength(7);
    expect(await asked('SELECT count(*)::INT AS n FROM $', { engine }, columns)).toEqual([{ n: 0 }]);
  });

  test('writes texts only under types: text', async () => {
    expect(await asked('SELECT ok, day FROM $ LIMIT 1', { engine, types: 'text' }, columns, rows)).toEqual([
      { ok: 'yes', day: '20240229' },
    ]);
  });

  test('writes values that a step has cast', async () => {
    const cast = columns.slice(1, 6).map((column) => ({ ...column, cast: true }));
    const row = { ok: true, age: 7n, share: 0.5, moment: new Date(1500), day: new Date('1969-12-31T12:00:00Z') };
    expect(
      await asked('SELECT ok, age::INT AS age, share, epoch_us(moment)::INT AS moment, day::VARCHAR AS day FROM $', { engine }, cast, [
        row,
      ]),
    ).toEqual([{ ok: true, age: 7, share: 0.5, moment: 1_500_000, day: '1969-12-31' }]);
  });

  test('takes a text of a megabyte', async () => {
    const meta = '😀'.repeat(250_000);
    expect(await asked('SELECT length(meta)::INT AS n FROM $', { engine }, [column('meta')], [{ meta }])).toEqual([{ n: 250_000 }]);
  });

  test('lets readers find every value by a condition', async () => {
    const texts = ['a', '\uffee', '😀', 'é', 'z'.repeat(40), ''];
    const pages = texts.map((text) => [{ text }]);
    for (const text of texts) {
      expect(await asked(`SELECT text FROM $ WHERE text = '${text}'`, { engine, row_group_rows: 2 }, [column('text')], ...pages)).toEqual([
        { text },
      ]);
    }
  });

  test('closes row groups by rows, whatever the pages', async () => {
    const ten = Array.from({ length: 10 }, (_, index) => ({ n: String(index) }));
    const sql = 'SELECT DISTINCT row_group_id::INT AS id, row_group_num_rows::INT AS n FROM parquet_metadata($) ORDER BY id';
    const groups = [4, 4, 4, 4, 4].map((n, id) => ({ id, n }));
    expect(await asked(sql, { engine, row_group_rows: 4 }, [column('n', 'integer')], ten, ten)).toEqual(groups);
  });

  test('begins a new file after file_max_bytes, without losing the order', async () => {
    const folder = await temporaryFolder();
    const all = Array.from({ length: 25 }, (_, index) => ({ n: String(index) }));
    await writeAll(
      parquet({ path: 't', engine, row_group_rows: 10, file_max_bytes: 1 }, recording(folder)),
      [column('n', 'integer')],
      all.slice(0, 20),
      all.slice(20),
    );

    expect((await readdir(join(folder, 't'))).filter((name) => name.endsWith('.parquet'))).toEqual(
      [0, 1, 2].map((index) => `part-0000${index}-run-1.parquet`),
    );
    const read = await duckdb(
      `SELECT n::INT AS n FROM read_parquet('${folder}/t/*.parquet', filename = true, file_row_number = true) ORDER BY filename, file_row_number`,
    );
    expect(read.map((row) => row['n'])).toEqual(all.map((row) => Number(row.n)));
  });

  test('opens no further file when the rows end with a file', async () => {
    const folder = await temporaryFolder();
    await writeAll(
      parquet({ path: 't', engine, row_group_rows: 2, file_max_bytes: 1 }, recording(folder)),
      [column('n', 'integer')],
      [{ n: '1' }, { n: '2' }],
    );
    expect(await readdir(join(folder, 't'))).toEqual(['part-00000-run-1.parquet']);
  });

  test('names columns in snake_case and keeps the original names in the metadata', async () => {
    const [found] = await asked(
      "SELECT decode(value) AS value FROM parquet_kv_metadata($) WHERE decode(key) = 'leadstream.original_names'",
      { engine },
      columns,
    );
    expect(JSON.parse(String(found?.['value']))).toMatchObject({ ok: 'LEAD OK', zip: 'zip' });
  });

  test.each([
    ['Id', {}],
    ['Is_Current', { mode: 'merge', history: true, key: ['id'] } as const],
  ])('refuses columns that differ only in case, also from those that it adds: %s', async (name, options) => {
    const folder = await temporaryFolder();
    const writer = await parquet({ path: 't', engine, ...options }, recording(folder));
    await expect(writer.begin([column('id'), column(name)])).rejects.toMatchObject({ code: 'E_SINK_VALUE' });
    await writer.abort();
  });

  test('takes columns named like properties of every object', async () => {
    expect(await asked('SELECT * FROM $', { engine }, [column('constructor'), column('toString')], [{}])).toEqual([
      { constructor: null, toString: null },
    ]);
  });

  test('rejects a lone surrogate, also under types: text', async () => {
    const folder = await temporaryFolder();
    const context = recording(folder);
    const prepared = await writeAll(parquet({ path: 't', engine, types: 'text' }, context), [column('a')], [{ a: 'x\udc00' }, { a: 'y' }]);
    expect(prepared.rows).toBe(1);
    expect(context.rejects[0]?.[1]).toEqual({ field: 'a', reason: 'is not valid Unicode text', page: 1, index: 0 });
  });
});

describe('parquet', () => {
  const big = [{ n: '9007199254740993' }, { n: '-9223372036854775808' }, { n: '1' }];

  test('keeps whole numbers of 64 bits exact', async () => {
    expect(await asked('SELECT n::VARCHAR AS n FROM $', {}, [column('n', 'integer')], big)).toEqual(big);
  });

  test('rejects whole numbers beyond 2^53 by parquetjs-lite, which would round them', async () => {
    const folder = await temporaryFolder();
    const context = recording(folder);
    await writeAll(parquet({ path: 't', engine: 'parquetjs-lite' }, context), [column('n', 'integer')], big);

    expect(context.rejects.map(([row]) => row)).toEqual(big.slice(0, 2));
    expect(context.rejects[0]?.[1].reason).toBe('is beyond 2^53, which the engine parquetjs-lite cannot store');
    expect(await duckdb(`SELECT n::VARCHAR AS n FROM '${folder}/t/*.parquet'`)).toEqual([{ n: '1' }]);
  });

  test('reads back the same from all engines', async () => {
    const sql = 'SELECT * REPLACE (epoch_us(moment)::VARCHAR AS moment, age::VARCHAR AS age, day::VARCHAR AS day) FROM $';
    const [one, ...others] = await Promise.all(engineNames.map((engine) => asked(sql, { engine, row_group_rows: 3 }, columns, rows, rows)));
    expect(others).toEqual(others.map(() => one));
  });

  test('refuses names that parquetjs-lite would lose or move', async () => {
    const folder = await temporaryFolder();
    for (const name of ['__proto__', '2024']) {
      const writer = await parquet({ path: 't', engine: 'parquetjs-lite' }, recording(folder));
      await expect(writer.begin([column(name)])).rejects.toMatchObject({ code: 'E_SINK_VALUE' });
      await writer.abort();
    }
    const open = await Promise.all((await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
    expect(open.filter((path) => path.startsWith(folder))).toEqual([]);
  });

  test('writes booleans plainly and says who wrote the file', async () => {
    const folder = await temporaryFolder();
    await writeAll(
      parquet({ path: 't' }, recording(folder)),
      [column('f', 'flag')],
      Array.from({ length: 40 }, () => ({ f: 'y' })),
    );
    const footer = await parquetMetadataAsync(await asyncBufferFromFile(join(folder, 't/part-00000-run-1.parquet')));
    expect(footer.created_by).toMatch(/^leadstream version \d+\.\d+\.\d+/);
    // Pages of version 1 have their null flags in RLE.
    expect(footer.row_groups[0]?.columns[0]?.meta_data?.encodings).toEqual(['PLAIN', 'RLE']);
  });

  test('does not tell values in the failures of parquetjs-lite', async () => {
    const folder = await temporaryFolder();
    const writer = await parquet({ path: 't', engine: 'parquetjs-lite', on_error: 'fail' }, recording(folder));
    await writer.begin([column('age', 'integer')]);
    const failure: unknown = await writer.write(pageOf(1, [{ age: '9007199254740993' }])).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: 'E_SINK_VALUE', message: expect.not.stringContaining('9007') });
    await writer.abort();
  });
});
