import { exact, misfit, msPerDay, parserOf, textOf, type DeclaredType, type Value } from '../core/index.js';
import { daysOf, mapping, Unfit, Utf8Vector, type Mapped, type Vector } from '../vector/index.js';
import type { SqlType, SqlValue } from './database.js';

export const sqlTypes: Readonly<Record<DeclaredType, SqlType>> = {
  ...{ text: 'BLOB', flag: 'BOOLEAN', integer: 'BIGINT', decimal: 'DOUBLE', timestamp: 'BIGINT', date: 'BIGINT' },
};

/** Returns a value in stored form: instants and days as milliseconds since 1970. `undefined` if it does not have the type. */
function plain(value: Value, type: DeclaredType): Value | undefined {
  if (type === 'text') return textOf(value, type)?.isWellFormed() === false ? undefined : textOf(value, type);
  const held = exact[type](value);
  if (held instanceof Date) return BigInt(type === 'date' ? daysOf(held) * msPerDay : held.getTime());
  // Both zeros are one number.
  return typeof held === 'number' ? held + 0 : held;
}

/** Converts a column's values to their stored form. Texts are parsed; an empty one is `null` for every type except `text`. */
export function plainCast(type: DeclaredType): (vector: Vector) => Mapped {
  const parse = parserOf(type);
  const cast = (value: Value) => {
    const parsed = typeof value === 'string' ? parse(value) : value;
    if (parsed === null) return null;
    return (parsed === undefined ? undefined : plain(parsed, type)) ?? new Unfit(misfit(type));
  };
  return mapping(cast, { keepsBytes: type === 'text' });
}

export function sqlValues(vector: Vector): readonly SqlValue[] {
  if (vector instanceof Utf8Vector)
    return Array.from({ length: vector.length }, (_, row) => vector.bytes.subarray(vector.start(row), vector.end(row)));
  return vector.toArray().map((value) => {
    if (typeof value === 'string') return Buffer.from(value);
    if (value instanceof Date) throw new Error('an instant is stored as milliseconds');
    return value;
  });
}

/** Replaces an instant in a result that milliseconds cannot hold. */
export const finerThanMs = 2n ** 63n - 2n;

export function resultOf(value: SqlValue, type: DeclaredType): Value | Unfit {
  const given = valueOf(value, type);
  if (given === null || type === 'text' || exact[type](given) !== undefined) return given;
  if (value === finerThanMs) return new Unfit("is finer than a millisecond; write date_trunc('milliseconds', …), or cast it to VARCHAR");
  if (given instanceof Date) return new Unfit('is not an instant or day of the years 1 to 9999');
  return new Unfit(type === 'decimal' ? `${misfit(type)}, as after a division by 0; divide by nullif(…, 0)` : misfit(type));
}

function valueOf(value: SqlValue, type: DeclaredType): Value {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8');
  return (type === 'timestamp' || type === 'date') && value !== null ? new Date(Number(value)) : value;
}
