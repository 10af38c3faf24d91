import { expect, test } from '@jest/globals';
import type { Row } from '../../src/core/index.js';
import { engineNames, type EngineName } from '../../src/parquet/engines.js';
import { duckdb } from '../support/duckdb.js';
import { temporaryFolder } from '../support/temporary.js';
import { conditionsOn, disagreements, keyOf } from '../support/parquet-conditions.js';
import { engineCodecs, fileOf, output, type FileOptions } from '../support/parquet-files.js';

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

const byText = [{ column: 'nasty', descending: false }];
const downwards = ['share', 'day'].map((column) => ({ column, descending: true }));

/** What is written how, by which engines. */
const ways: readonly [how: string, options: FileOptions, engines: readonly EngineName[]][] = [
  ['plain', {}, engineNames],
  ['sorted by text', { sortedBy: byText }, ['arrow']],
  ['sorted downwards by number and day', { sortedBy: downwards }, ['arrow']],
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

test('arrow gives readers statistics to prune by', async () => {
  const folder = await temporaryFolder();
  const path = await fileOf(folder, columns, rows, { groupRows: 700 });
  const bare = await duckdb(
    `SELECT DISTINCT path_in_schema AS name FROM parquet_metadata('${path}') WHERE stats_min_value IS NULL AND num_values <> stats_null_count`,
  );
  expect(bare).toEqual([]);
});
