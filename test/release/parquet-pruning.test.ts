import { describe, expect, test } from '@jest/globals';
import { readColumnIndex, readOffsetIndex } from 'hyparquet';
import { readFile } from 'node:fs/promises';
import type { Row } from '../../src/core/index.js';
import { engineNames, type EngineName } from '../../src/parquet/engines.js';
import { compareTexts } from '../../src/vector/order.js';
import { duckdb } from '../support/duckdb.js';
import { temporaryFolder } from '../support/temporary.js';
import { conditionsOn, disagreements, keyOf } from '../support/parquet-conditions.js';
import { engineCodecs, fileOf, footerOf, output, type FileOptions } from '../support/parquet-files.js';

const columns = [
  output('email', 'text'),
  output('nasty', 'text'),
  output('long', 'text'),
  output('state', 'text'),
  output('n', 'integer'),
  output('share', 'decimal'),
  output('ok', 'flag'),
  output('moment', 'timestamp'),
  output('day', 'date'),
];

/** Nasty for readers that compare UTF-16 units or signed bytes, or that take truncated statistics for exact ones. */
const nasty = ['', 'a', 'Z', 'é', '\ud7ff', '\uff21', '\uffff', '😀', '\u{10ffff}', "o'neil", `${'z'.repeat(16)}a`, `${'z'.repeat(15)}😀`];
const states = ['NY', 'TX', 'AL', 'CA', 'ZZ'];

/** Values cluster by row group, so that there is something to prune. */
function rowAt(index: number): Row {
  const group = Math.floor(index / 700);
  const second = (index * 7919 - 15_000_000) * 97;
  return {
    email: index % 11 === 0 ? null : `${(index * 2654435761) >>> 7}@example.com`,
    nasty: index % 13 === 0 ? null : (nasty[(group * 3 + (index % 4)) % nasty.length] ?? ''),
    long: `${'x'.repeat(400)}${String.fromCodePoint(0x1f600 + (index % 9))}\uff21${index}`,
    state: states[(group + (index % 2)) % states.length] ?? null,
    n: index % 17 === 0 ? null : BigInt(index - 1500) * (index % 3 === 0 ? -1n : 1n) * 2_000_000_003n,
    share: index % 19 === 0 ? null : (index % 23 === 0 ? -0 : 0.1 * (index - 2000)) * 10 ** (group * 3),
    ok: group === 1 ? null : group === 2 ? false : index % 3 === 0,
    moment: new Date(second * 1000 + (index % 1000)),
    day: new Date(Math.floor(second / 86_400) * 86_400_000 + (index % 24) * 3_600_000),
  };
}

const rows = Array.from({ length: 3500 }, (_, index) => rowAt(index));

/** Values of every column to ask for, from all row groups. */
const samples = columns.map(({ name, type }) => {
  const found = new Map(rows.filter((_, index) => index % 139 < 4).map((row) => [keyOf(row[name] ?? null, type), row[name] ?? null]));
  const values = [...found.values()].filter((value) => value !== null);
  return { name, type, values: values.filter((value, index) => index % Math.ceil(values.length / 12) === 0 || value === 0) };
});

const conditions = conditionsOn(rows, samples);

const everything: FileOptions = { bloomFilters: columns.map(({ name }) => name), columnIndex: true };
const byText = [{ column: 'nasty', descending: false }];
const downwards = ['share', 'day'].map((column) => ({ column, descending: true }));

/** What is written how, by which engines. */
const ways: readonly [how: string, options: FileOptions, engines: readonly EngineName[]][] = [
  ['plain', {}, engineNames],
  ['with bloom filters and a column index', everything, ['hyparquet']],
  ['sorted by text', { sortedBy: byText }, ['arrow']],
  ['sorted by text with bloom filters', { ...everything, sortedBy: byText }, ['hyparquet']],
  ['sorted downwards by number and day', { sortedBy: downwards }, ['arrow']],
  ['sorted downwards with a column index', { sortedBy: downwards, columnIndex: true }, ['hyparquet']],
  ['collected like thousands of partitions', { many: true }, ['arrow']],
];

const cases = engineCodecs.flatMap(([engine, compression]) =>
  ways.filter(([, , able]) => able.includes(engine)).map(([how, options]) => ({ engine, compression, how, options })),
);

test.each(cases)(
  'counts by $engine, $compression, $how, are the same with and without pruning',
  async ({ engine, compression, options }) => {
    const folder = await temporaryFolder();
    const path = await fileOf(folder, columns, rows, { ...options, engine, compression, groupRows: 700 });
    expect(await disagreements(path, engine, conditions)).toEqual([]);
  },
);

test.each(['arrow', 'hyparquet'] as const)('%s gives readers statistics to prune by', async (engine) => {
  const folder = await temporaryFolder();
  const path = await fileOf(folder, columns, rows, { engine, groupRows: 700 });
  const bare = await duckdb(
    `SELECT DISTINCT path_in_schema AS name FROM parquet_metadata('${path}') WHERE stats_min_value IS NULL AND num_values <> stats_null_count`,
  );
  expect(bare).toEqual([]);
});

describe('hyparquet', () => {
  test('gives readers filters that exclude row groups', async () => {
    const folder = await temporaryFolder();
    const path = await fileOf(folder, columns, rows, { ...everything, engine: 'hyparquet', groupRows: 700 });
    const email = rows[2000]?.['email'];
    const probe = await duckdb(`SELECT bloom_filter_excludes AS out FROM parquet_bloom_probe('${path}', 'email', '${String(email)}')`);
    expect(probe.map(({ out }) => out)).toEqual([true, true, false, true, true]);
    const bloomed = await duckdb(
      `SELECT DISTINCT path_in_schema AS name FROM parquet_metadata('${path}') WHERE bloom_filter_offset IS NOT NULL ORDER BY name`,
    );
    expect(bloomed.map(({ name }) => name)).toEqual(['email', 'long', 'n', 'nasty', 'state']);
  });

  test('bounds every page by its column index', async () => {
    const folder = await temporaryFolder();
    const file = await fileOf(folder, columns, rows, { engine: 'hyparquet', columnIndex: true, groupRows: 3500 });
    const [{ buffer, byteOffset }, footer] = [await readFile(file), await footerOf(file)];
    const reader = (offset: bigint | undefined, length = 0) => ({
      view: new DataView(buffer, byteOffset + Number(offset), length),
      offset: 0,
    });
    const chunk = footer.row_groups[0]?.columns[2];
    const element = footer.schema[3];
    if (!chunk || !element) throw new Error('no column');
    const { page_locations: pages } = readOffsetIndex(reader(chunk.offset_index_offset, chunk.offset_index_length));
    const index = readColumnIndex(reader(chunk.column_index_offset, chunk.column_index_length), element);

    expect(pages.length).toBeGreaterThan(5);
    for (const [at, { first_row_index: first }] of pages.entries()) {
      const [min, max] = [String(index.min_values[at]), String(index.max_values[at])];
      const end = pages[at + 1]?.first_row_index ?? 3500n;
      for (const row of rows.slice(Number(first), Number(end))) {
        expect(compareTexts(min, String(row['long']))).toBeLessThanOrEqual(0);
        expect(compareTexts(max, String(row['long']))).toBeGreaterThanOrEqual(0);
      }
    }
  });
});
