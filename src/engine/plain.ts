import { expectations, parserOf, textOf, type DeclaredType, type Value } from '../core/index.js';
import { daysOf, mapping, Unfit, Utf8Vector, type Mapped, type Vector } from '../vector/index.js';
import type { SqlType, SqlValue } from './database.js';

const msPerDay = 86_400_000;
const maxInt64 = 2n ** 63n - 1n;

/** How values are stored by type: instants and days as milliseconds since 1970. `plain` returns `undefined` for a value that does not have the type. */
const stored: Readonly<Record<DeclaredType, { readonly sql: SqlType; plain(value: Value): Value | undefined }>> = {
  text: {
    sql: 'BLOB',
    plain: (value) => {
      const text = textOf(value, 'text');
      return text?.isWellFormed() === false ? undefined : text;
    },
  },
  flag: { sql: 'BOOLEAN', plain: (value) => (typeof value === 'boolean' ? value : undefined) },
  integer: {
    sql: 'BIGINT',
    plain: (value) => {
      const whole = typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
      return typeof whole === 'bigint' && whole <= maxInt64 && whole >= -maxInt64 - 1n ? whole : undefined;
    },
  },
  // Both zeros are the same number.
  decimal: {
    sql: 'DOUBLE',
    plain: (value) => {
      const number = typeof value === 'bigint' ? Number(value) : value;
      return typeof number === 'number' && Number.isFinite(number) ? number + 0 : undefined;
    },
  },
  timestamp: { sql: 'BIGINT', plain: (value) => (isInstant(value) ? BigInt(value.getTime()) : undefined) },
  date: { sql: 'BIGINT', plain: (value) => (isInstant(value) ? BigInt(daysOf(value) * msPerDay) : undefined) },
};

function isInstant(value: Value): value is Date {
  return value instanceof Date && !Number.isNaN(value.getTime());
}

export function sqlTypeOf(type: DeclaredType): SqlType {
  return stored[type].sql;
}

/**
 * Returns a function that converts the values of a column to those that are stored. Texts are read as the declared type; an empty one is `null` for every type
 * except `text`.
 */
export function plainCast(type: DeclaredType): (vector: Vector) => Mapped {
  const [parse, { plain }] = [parserOf(type), stored[type]];
  const unfit = new Unfit(`is not ${expectations[type]}`);
  const cast = (value: Value) => {
    const parsed = typeof value === 'string' ? parse(value) : value;
    if (parsed === null) return null;
    return (parsed === undefined ? undefined : plain(parsed)) ?? unfit;
  };
  return mapping(cast, { keepsBytes: type === 'text' });
}

/** Returns the values of a column that `plainCast` returned. */
export function sqlValues(vector: Vector): readonly SqlValue[] {
  if (vector instanceof Utf8Vector)
    return Array.from({ length: vector.length }, (_, row) => vector.bytes.subarray(vector.start(row), vector.end(row)));
  return vector.toArray().map((value) => {
    if (typeof value === 'string') return Buffer.from(value);
    if (value instanceof Date) throw new Error('an instant is stored as milliseconds');
    return value;
  });
}

export function valueOf(value: SqlValue, type: DeclaredType): Value {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8');
  return (type === 'timestamp' || type === 'date') && value !== null ? new Date(Number(value)) : value;
}
