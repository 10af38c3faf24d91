import { readFile } from 'node:fs/promises';
import { asyncBufferFromFile, parquetMetadataAsync, type FileMetaData } from 'hyparquet';
import { readParquet } from 'parquet-wasm';
import type { Row } from '../../../src/core/index.js';
import { parquet } from '../../../src/sinks/index.js';
import { footerFault } from '../../../src/parquet/read.js';
import { engineNames } from '../../../src/parquet/index.js';
import { column, recording, writeAll } from '../../support/sinks.js';
import { duckdb } from '../../support/duckdb.js';
import { temporaryFolder } from '../../support/temporary.js';
import { engineCodecs, fileOf, output } from '../../support/parquet-files.js';

const columns = [
  output('text', 'text', 'The Text'),
  output('flag', 'flag'),
  output('integer', 'integer'),
  output('decimal', 'decimal'),
  output('timestamp', 'timestamp'),
  output('date', 'date'),
];

const megabyte = '😀é'.repeat(170_000);
const rows: readonly Row[] = [
  { text: '', flag: true, integer: 2n ** 53n - 1n, decimal: 0.1, timestamp: new Date(-1), date: new Date('1969-12-31T12:34:56Z') },
  { text: '😀', flag: false, integer: -(2n ** 53n) + 1n, decimal: -1e300, timestamp: new Date(1), date: new Date('0001-01-01T23:59:59Z') },
  { text: megabyte, flag: null, integer: 0n, decimal: 5e-324, timestamp: null, date: new Date('2024-02-29T00:00:00Z') },
  {},
];

const select = `SELECT text, flag, integer::VARCHAR AS integer, "decimal", epoch_us("timestamp")::VARCHAR AS timestamp, "date"::VARCHAR AS date`;

async function footerOf(path: string): Promise<FileMetaData> {
  return parquetMetadataAsync(await asyncBufferFromFile(path));
}

describe.each(engineCodecs)('a file by %s, %s', (engine, compression) => {
  const how = { engine, compression };

  test('reads back as it was written', async () => {
    const folder = await temporaryFolder();
    const path = await fileOf(folder, columns, rows, { ...how, groupRows: 3 });
    expect(await duckdb(`${select} FROM '${path}'`)).toEqual([
      { text: '', flag: true, integer: '9007199254740991', decimal: 0.1, timestamp: '-1000', date: '1969-12-31' },
      { text: '😀', flag: false, integer: '-9007199254740991', decimal: -1e300, timestamp: '1000', date: '0001-01-01' },
      { text: megabyte, flag: null, integer: '0', decimal: 5e-324, timestamp: null, date: '2024-02-29' },
      { text: null, flag: null, integer: null, decimal: null, timestamp: null, date: null },
    ]);
  });

  test('fails its check when the footer differs in rows, columns, types or places', async () => {
    const folder = await temporaryFolder();
    const path = await fileOf(folder, columns, rows, how);
    const [footer, { length: bytes }] = [await footerOf(path), await readFile(path)];
    const encoding = { compression, sortedBy: [], metadata: {} };
    const expected = { columns, encoding, rows: 4, bytes };

    expect(footerFault(footer, expected)).toBeUndefined();
    expect(footerFault(footer, { ...expected, rows: 5 })).toBe('wrote 5 rows, read back 4, 4 of them in row groups');
    expect(footerFault({ ...footer, row_groups: [] }, expected)).toBe('wrote 4 rows, read back 4, 0 of them in row groups');
    expect(footerFault(footer, { ...expected, columns: columns.slice(1) })).toBe('wrote 5 columns, read back 6');
    expect(footerFault(footer, { ...expected, columns: [output('texte', 'text'), ...columns.slice(1)] })).toBe(
      'wrote column texte, read back text',
    );
    expect(footerFault(footer, { ...expected, columns: [output('text', 'date'), ...columns.slice(1)] })).toBe('column text is not DATE');
    expect(footerFault(footer, { ...expected, bytes: bytes - 100_000 })).toMatch(/^the data of column \w+ is outside the file$/);
  });
});

describe.each(engineNames)('a file by %s', (engine) => {
  test('has one schema, whether there are values, nulls only or no rows', async () => {
    const folder = await temporaryFolder();
    const schemas = [];
    for (const some of [rows, [{}, {}], []]) {
      const path = await fileOf(folder, columns, some, { engine });
      expect(await duckdb(`SELECT count(*)::INT AS n, count(text)::INT AS texts FROM '${path}'`)).toEqual([
        { n: some.length, texts: some === rows ? 3 : 0 },
      ]);
      schemas.push(await duckdb(`SELECT * EXCLUDE (file_name) FROM parquet_schema('${path}')`));
    }
    expect(schemas[1]).toEqual(schemas[0]);
    expect(schemas[2]).toEqual(schemas[0]);
  });

  test('carries key-value metadata, sorted, with the original names', async () => {
    const folder = await temporaryFolder();
    const path = await fileOf(folder, columns, rows, { engine, metadata: { 'z.last': 'ü', 'a.first': '1' } });
    const found = await duckdb(`SELECT decode(key) AS key, decode(value) AS value FROM parquet_kv_metadata('${path}')`);
    expect(found.map(({ key }) => key)).toEqual(['a.first', 'leadstream.original_names', 'z.last']);
    expect(found[2]?.['value']).toBe('ü');
    expect(JSON.parse(String(found[1]?.['value']))).toMatchObject({ text: 'The Text' });
  });

  test.each([NaN, Infinity, -Infinity])('never gets %p', async (share) => {
    const folder = await temporaryFolder();
    const context = recording(folder);
    const prepared = await writeAll(parquet({ path: 't', engine }, context), [column('share', 'decimal', { cast: true })], [{ share }]);
    expect([prepared.rows, context.rejects.length]).toEqual([0, 1]);
  });
});

describe('a file by arrow', () => {
  const engine = 'arrow';

  test('records by what its row groups are sorted, and only then', async () => {
    const folder = await temporaryFolder();
    const sortedBy = [
      { column: 'date', descending: true },
      { column: 'text', descending: false },
    ];
    const sorted = await footerOf(await fileOf(folder, columns, rows, { engine, sortedBy, groupRows: 2 }));
    const recorded = [
      { column_idx: 5, descending: true, nulls_first: false },
      { column_idx: 0, descending: false, nulls_first: false },
    ];
    expect(sorted.row_groups.map((group) => group.sorting_columns)).toEqual([recorded, recorded]);
    const plain = await footerOf(await fileOf(folder, columns, rows, { engine }));
    expect(plain.row_groups[0]?.sorting_columns).toBeUndefined();
  });

  test.each([
    ['no field ids, so that readers match columns by name', undefined],
    ['the field ids it is given', new Map(columns.map(({ name }, index) => [name, 1000 - index]))],
  ])('carries %s', async (_what, fieldIds) => {
    const folder = await temporaryFolder();
    for (const some of [rows, []]) {
      const path = await fileOf(folder, columns, some, { engine, ...(fieldIds && { fieldIds }) });
      const found = await duckdb(`SELECT name, field_id::INT AS id FROM parquet_schema('${path}') WHERE name <> 'root'`);
      expect(found).toEqual(columns.map(({ name }) => ({ name, id: fieldIds?.get(name) ?? null })));
    }
  });

  test('is read by arrow-rs when it has no rows', async () => {
    const folder = await temporaryFolder();
    const bytes = await readFile(await fileOf(folder, columns, [], { engine }));
    const table = readParquet(bytes);
    expect(table.recordBatches()).toHaveLength(0);
    const stream = Buffer.from(table.intoIPCStream()).toString('latin1');
    expect(columns.filter(({ name }) => !stream.includes(name))).toEqual([]);
  });
});
