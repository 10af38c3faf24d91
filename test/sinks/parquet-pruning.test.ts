import { describe, expect, test } from '@jest/globals';
import { readColumnIndex, readOffsetIndex } from 'hyparquet';
import { readFile } from 'node:fs/promises';
import type { Row, Value } from '../../src/collections/index.js';
import type { EngineName } from '../../src/sinks/parquet/encoder.js';
import { compareTexts } from '../../src/sinks/parquet/row-group.js';
import { duck, temporaryFolder } from './support.js';
import { engineCodecs, fileOf, footerOf, output, type FileOptions } from './parquet-support.js';

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

function keyOf(value: Value, type: string): Value {
  if (!(value instanceof Date)) return value === 0 ? 0 : value;
  return type === 'date' ? value.toISOString().slice(0, 10) : value.getTime();
}

function literal(value: Value, type: string, engine: EngineName): string {
  if (value instanceof Date) {
    if (type === 'date') return `DATE '${value.toISOString().slice(0, 10)}'`;
    // parquetjs-lite has no logical type that says UTC.
    return engine === 'hyparquet'
      ? `TIMESTAMPTZ '${value.toISOString()}'`
      : `TIMESTAMP '${value.toISOString().replace('T', ' ').slice(0, -1)}'`;
  }
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  return typeof value === 'number' ? `'${String(value)}'::DOUBLE` : String(value);
}

function order(one: Value, other: Value): number {
  if (typeof one === 'string' && typeof other === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(other));
  if (one === null || other === null) return NaN;
  return one < other ? -1 : one > other ? 1 : 0;
}

function questions(engine: EngineName): { readonly condition: string; readonly expected: number }[] {
  return samples.flatMap(({ name, type, values }) =>
    values.flatMap((value, index) =>
      (['=', index % 2 ? '<' : '>='] as const).map((sign) => {
        const expected = rows.filter((row) => {
          const found = order(keyOf(row[name] ?? null, type), keyOf(value, type));
          return sign === '=' ? found === 0 : sign === '<' ? found < 0 : found >= 0;
        });
        return { condition: `${name} ${sign} ${literal(value, type, engine)}`, expected: expected.length };
      }),
    ),
  );
}

/** Counts by conditions that a reader prunes by, by ones that it cannot prune by, and here; gives those that do not agree. */
async function disagreements(path: string, engine: EngineName): Promise<unknown[]> {
  const asked = questions(engine);
  const pruned = await duck(
    asked.map(({ condition }) => `SELECT count(*)::INT AS n FROM '${path}' WHERE ${condition}`).join(' UNION ALL '),
  );
  const scans = asked.map(({ condition }, index) => `count(*) FILTER (WHERE ${condition})::INT AS n${index}`);
  const [scanned] = await duck(`SELECT ${scans.join(', ')} FROM '${path}'`);
  return asked
    .map((question, index) => ({ ...question, pruned: pruned[index]?.['n'], scanned: scanned?.[`n${index}`] }))
    .filter(({ expected, pruned, scanned }) => pruned !== expected || scanned !== expected);
}

const everything: FileOptions = { bloomFilters: columns.map(({ name }) => name), columnIndex: true };
const sortings: readonly [string, FileOptions][] = [
  ['plain', {}],
  ['with bloom filters and a column index', everything],
  ['sorted by text', { ...everything, sortedBy: [{ column: 'nasty', descending: false }] }],
  ['sorted downwards by number and day', { sortedBy: ['share', 'day'].map((column) => ({ column, descending: true })), columnIndex: true }],
];

const cases = engineCodecs.flatMap(([engine, compression]) =>
  sortings
    .filter((_, index) => index === 0 || (engine === 'hyparquet' && (compression === 'zstd' || index === 1)))
    .map(([how, options]) => ({ engine, compression, how, options })),
);

test.each(cases)(
  'counts by $engine, $compression, $how, are the same with and without pruning',
  async ({ engine, compression, options }) => {
    await using folder = await temporaryFolder();
    const path = await fileOf(folder.path, columns, rows, { ...options, engine, compression, groupRows: 700 });
    expect(await disagreements(path, engine)).toEqual([]);
  },
);

describe('hyparquet', () => {
  test('gives readers something to prune by: statistics, and filters that exclude row groups', async () => {
    await using folder = await temporaryFolder();
    const path = await fileOf(folder.path, columns, rows, { ...everything, groupRows: 700 });
    const email = rows[2000]?.['email'];
    const probe = await duck(`SELECT bloom_filter_excludes AS out FROM parquet_bloom_probe('${path}', 'email', '${String(email)}')`);
    expect(probe.map(({ out }) => out)).toEqual([true, true, false, true, true]);
    const bare = await duck(
      `SELECT DISTINCT path_in_schema AS name FROM parquet_metadata('${path}') WHERE stats_min_value IS NULL AND num_values <> stats_null_count`,
    );
    expect(bare).toEqual([]);
    const bloomed = await duck(
      `SELECT DISTINCT path_in_schema AS name FROM parquet_metadata('${path}') WHERE bloom_filter_offset IS NOT NULL ORDER BY name`,
    );
    expect(bloomed.map(({ name }) => name)).toEqual(['email', 'long', 'n', 'nasty', 'state']);
  });

  test('bounds every page by its column index', async () => {
    await using folder = await temporaryFolder();
    const file = await fileOf(folder.path, columns, rows, { columnIndex: true, groupRows: 3500 });
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
