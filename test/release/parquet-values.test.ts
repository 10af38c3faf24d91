import { createHash } from 'node:crypto';
import type { OutputColumn, Row, Value } from '../../src/core/index.js';
import { engineCodecs, fileOf, output, type FileOptions } from '../support/parquet-files.js';
import { duckdb } from '../support/duckdb.js';
import { temporaryFolder } from '../support/temporary.js';

const days = (...numbers: readonly number[]) => numbers.map((day) => new Date(day * 86_400_000));
const last = '\u{10ffff}';

/** Edges of UTF-8, of cut statistics (64 bytes), of numbers and of calendars. */
const pools = {
  text: [
    ...['', 'a', '😀', '\uff21', '\uffff', '\ud7ff', '\ue000', last, last.repeat(40), `${last.repeat(16)}b`, 'é', '\ufeffbom', '\ufeff'],
    ...['z'.repeat(63), 'z'.repeat(64), 'z'.repeat(65), 'y'.repeat(16), 'y'.repeat(17), '\u007f'.repeat(70), '\ud7ff'.repeat(22)],
    ...['é'.repeat(32), 'é'.repeat(33), `x${'é'.repeat(32)}`, `x${'é'.repeat(33)}`, '😀'.repeat(17), `x${'😀'.repeat(17)}`],
    ...['tab\tnl\n', "qu'ote", 'M'.repeat(1_048_576), '\uff10\uff11', ' lead', '\uff5a'],
  ],
  flag: [true, false],
  integer: [0n, 1n, -1n, 255n, 256n, -256n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 62n, 2n ** 63n - 1n, -(2n ** 63n)],
  decimal: [0, -0, 5e-324, -5e-324, 2 ** -1022, Number.MAX_VALUE, -Number.MAX_VALUE, 0.1, -0.1, 1e21, 123_456_789.125, 1 / 3],
  timestamp: [
    ...[0, 1, -1, -1000, -86_400_000, 1_700_000_000_123, 253_402_300_799_999, -62_135_596_800_000, 8.64e15, -8.64e15],
    // Around the last microsecond that a number holds exactly.
    ...[9_007_199_254_740, 9_007_199_254_741, -9_007_199_254_741, -9_007_199_254_742],
  ].map((ms) => new Date(ms)),
  date: days(0, -1, 1, 19_000, -25_567, 2_932_896, -719_162, 100_000_000, -100_000_000),
} as const;

const columns = [
  output('text', 'text'),
  output('wörd "x" 😀', 'text'),
  output('flag', 'flag'),
  output('integer', 'integer'),
  output('decimal', 'decimal'),
  output('timestamp', 'timestamp'),
  output('date', 'date'),
  output('nothing', 'integer'),
];
const groupRows = [1, 17, 40, 1, 8];
const rows = rowsOf(480);

/** Few different values in a row, so that statistics exclude something; stretches without nulls and of nulls only. */
function rowsOf(count: number): Row[] {
  let seed = 12_345;
  const random = () => (seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0) / 2 ** 32;
  return Array.from({ length: count }, (_, index) => {
    const stretch = Math.floor(index / 30);
    const valueOf = (type: keyof typeof pools): Value => {
      const nulls = [0, 0, 0.3, 1][(stretch + type.length) % 4] ?? 0;
      if (random() < nulls) return null;
      const pool = pools[type];
      return pool[(stretch * 5 + Math.floor(random() * 3)) % pool.length] ?? null;
    };
    return Object.fromEntries(columns.map(({ name, type }) => [name, name === 'nothing' ? null : valueOf(type)]));
  });
}

const codecs = engineCodecs.flatMap(([engine, compression]) => (engine === 'arrow' ? [compression] : []));

test.each<[string, FileOptions]>([
  ...codecs.map((compression): [string, FileOptions] => [compression, { compression }]),
  ['zstd, sorted by text', { compression: 'zstd', sortedBy: [{ column: 'text', descending: false }] }],
  ['zstd, sorted downwards by number', { compression: 'zstd', sortedBy: [{ column: 'decimal', descending: true }] }],
])('extreme values by %s are found by every condition that readers prune by', async (_how, options) => {
  const path = await fileOf(await temporaryFolder(), columns, rows, { ...options, groupRows });
  const conditions = [...columns.slice(2, 7), ...columns.slice(0, 1)].flatMap(conditionsOn);
  const union = conditions.map(({ condition }) => `SELECT count(*)::INT AS n FROM '${path}' WHERE ${condition}`).join(' UNION ALL ');
  const found = await duckdb(union);
  expect(conditions.filter(({ expected }, index) => found[index]?.['n'] !== expected)).toEqual([]);
  // Without statistics for some column, nothing is pruned.
  const bare = `SELECT path_in_schema FROM parquet_metadata('${path}') WHERE stats_min_value IS NULL AND num_values <> stats_null_count`;
  expect(await duckdb(`${bare} AND path_in_schema NOT IN ('text', 'wörd "x" 😀')`)).toEqual([]);
});

test.each(codecs)('extreme values by %s read back to the bit', async (compression) => {
  const folder = await temporaryFolder();
  const path = await fileOf(folder, columns, rows, { compression, groupRows });
  const found = await duckdb(
    `SELECT md5(text) AS text, flag, "integer"::VARCHAR AS "integer", "decimal", epoch_us("timestamp")::VARCHAR AS "timestamp",
       ("date" - DATE '1970-01-01')::VARCHAR AS "date", md5("wörd ""x"" 😀") AS word, nothing FROM '${path}'`,
  );
  expect(found).toEqual(
    rows.map((row) => ({
      text: md5(row['text']),
      flag: row['flag'],
      integer: row['integer'] === null ? null : String(row['integer']),
      decimal: row['decimal'],
      timestamp: row['timestamp'] instanceof Date ? String(BigInt(row['timestamp'].getTime()) * 1000n) : null,
      date: row['date'] instanceof Date ? String(row['date'].getTime() / 86_400_000) : null,
      word: md5(row['wörd "x" 😀']),
      nothing: null,
    })),
  );
});

function md5(value: Value | undefined): string | null {
  return typeof value === 'string' ? createHash('md5').update(value).digest('hex') : null;
}

/** Conditions on a column with `=`, `<` and `>=`, and how many rows match. */
function conditionsOn({ name, type }: OutputColumn): readonly { readonly condition: string; readonly expected: number }[] {
  const values: readonly Value[] = pools[type];
  return values.flatMap((value, index) => {
    const orders = rows.map((row) => order(keyOf(row[name] ?? null, type), keyOf(value, type)));
    const counted = (sign: string, holds: (found: number) => boolean) => ({
      condition: `"${name}" ${sign} ${literal(value, type)}`,
      expected: orders.filter(holds).length,
    });
    return [counted('=', (found) => found === 0), index % 2 ? counted('<', (found) => found < 0) : counted('>=', (found) => found >= 0)];
  });
}

/** A value in a form in which equal ones are identical. */
function keyOf(value: Value, type: OutputColumn['type']): Value {
  if (!(value instanceof Date)) return value === 0 ? 0 : value;
  return type === 'date' ? Math.floor(value.getTime() / 86_400_000) : value.getTime();
}

function literal(value: Value, type: OutputColumn['type']): string {
  if (value instanceof Date && type === 'date') return `(DATE '1970-01-01' + (${String(keyOf(value, type))})::INT)::DATE`;
  if (value instanceof Date) return `make_timestamp(${BigInt(value.getTime()) * 1000n})::TIMESTAMPTZ`;
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  if (typeof value === 'bigint') return `'${value}'::BIGINT`;
  return typeof value === 'number' ? `'${Object.is(value, -0) ? '-0' : String(value)}'::DOUBLE` : String(value);
}

function order(one: Value, other: Value): number {
  if (one === null || other === null) return NaN;
  if (typeof one === 'string' && typeof other === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return one < other ? -1 : one > other ? 1 : 0;
}
