import type { Row, Value } from '../../src/core/index.js';
import type { EngineName } from '../../src/parquet/engines.js';
import type { OutputColumn } from '../../src/core/index.js';
import { duckdb } from './duckdb.js';

/** Values of a column to query. */
export interface Sample extends Pick<OutputColumn, 'name' | 'type'> {
  readonly values: readonly Value[];
}

/** A query for readers, and the number of rows that match. */
export interface Condition extends Pick<OutputColumn, 'name' | 'type'> {
  readonly sign: '=' | '<' | '>=';
  readonly value: Value;
  readonly expected: number;
}

/** Makes conditions with `=`, `<` and `>=` from samples, with the number of matches in any file of these rows. */
export function conditionsOn(rows: readonly Row[], samples: readonly Sample[]): readonly Condition[] {
  return samples.flatMap(({ name, type, values }) => {
    const keys = rows.map((row) => keyOf(row[name] ?? null, type));
    return values.flatMap((value, index): Condition[] => {
      const wanted = keyOf(value, type);
      const orders = keys.map((key) => order(key, wanted));
      const counted = (sign: Condition['sign'], holds: (found: number) => boolean) => ({
        ...{ name, type, sign, value },
        expected: orders.filter(holds).length,
      });
      return [counted('=', (found) => found === 0), index % 2 ? counted('<', (found) => found < 0) : counted('>=', (found) => found >= 0)];
    });
  });
}

/** Queries a file with conditions that a reader can prune by, and with the same ones so that it cannot. Returns those with a wrong count. */
export async function disagreements(path: string, engine: EngineName, conditions: readonly Condition[]): Promise<unknown[]> {
  const asked = conditions.map(({ name, type, sign, value, expected }) => ({
    condition: `"${name}" ${sign} ${literal(value, type, engine)}`,
    expected,
  }));
  const pruned = await duckdb(
    asked.map(({ condition }) => `SELECT count(*)::INT AS n FROM '${path}' WHERE ${condition}`).join(' UNION ALL '),
  );
  const scans = asked.map(({ condition }, index) => `count(*) FILTER (WHERE ${condition})::INT AS n${index}`);
  const [scanned] = await duckdb(`SELECT ${scans.join(', ')} FROM '${path}'`);
  return asked
    .map((question, index) => ({ ...question, pruned: pruned[index]?.['n'], scanned: scanned?.[`n${index}`] }))
    .filter(({ expected, pruned, scanned }) => pruned !== expected || scanned !== expected)
    .map(({ condition, ...counts }) => ({ condition: condition.slice(0, 200), ...counts }));
}

/** Maps values of a column to a form in which equal ones are identical. */
export function keyOf(value: Value, type: OutputColumn['type']): Value {
  if (!(value instanceof Date)) return value === 0 ? 0 : value;
  return type === 'date' ? Math.floor(value.getTime() / 86_400_000) : value.getTime();
}

function literal(value: Value, type: OutputColumn['type'], engine: EngineName): string {
  if (value instanceof Date) {
    if (type === 'date') return `(DATE '1970-01-01' + (${String(keyOf(value, type))})::INT)::DATE`;
    const moment = `make_timestamp(${BigInt(value.getTime()) * 1000n})`;
    // parquetjs-lite has no logical type for UTC.
    return engine === 'parquetjs-lite' ? moment : `${moment}::TIMESTAMPTZ`;
  }
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  if (typeof value === 'bigint') return `'${value}'::BIGINT`;
  return typeof value === 'number' ? `'${Object.is(value, -0) ? '-0' : String(value)}'::DOUBLE` : String(value);
}

function order(one: Value, other: Value): number {
  if (typeof one === 'string' && typeof other === 'string') return Buffer.compare(bytesOf(one), bytesOf(other));
  if (one === null || other === null) return NaN;
  return one < other ? -1 : one > other ? 1 : 0;
}

const known = new Map<string, Buffer>();

/** Returns the bytes of a text, cached because it is compared often. */
function bytesOf(text: string): Buffer {
  const bytes = known.get(text) ?? Buffer.from(text);
  known.set(text, bytes);
  return bytes;
}
