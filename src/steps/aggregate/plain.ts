import { expectations, itemAt, parserOf, textOf, type DeclaredType, type Value } from '../../core/index.js';
import { comparing, daysOf, mapping, Unfit, type Compare, type Mapped, type Vector } from '../../vector/index.js';

/**
 * A value as kept by groups, in a form in which equal values are the same key of a `Map`: instants and days are milliseconds since
 * 1970, and whole numbers are numbers if these hold them exactly.
 */
export type Plain = string | number | bigint | boolean | null;

const msPerDay = 86_400_000;
const maxInt64 = 2n ** 63n - 1n;

/** @returns `undefined` for a value that does not have the type. */
const plains: { readonly [T in DeclaredType]: (value: Value) => Plain | undefined } = {
  text: (value) => textOf(value, 'text'),
  flag: (value) => (typeof value === 'boolean' ? value : undefined),
  integer: (value) => {
    if (typeof value === 'number') return Number.isSafeInteger(value) ? value + 0 : undefined;
    if (typeof value !== 'bigint' || value > maxInt64 || value < -maxInt64 - 1n) return undefined;
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  },
  // Both zeros are the same number.
  decimal: (value) => {
    const number = typeof value === 'bigint' ? Number(value) : value;
    return typeof number === 'number' && Number.isFinite(number) ? number + 0 : undefined;
  },
  timestamp: (value) => (isInstant(value) ? value.getTime() : undefined),
  date: (value) => (isInstant(value) ? daysOf(value) * msPerDay : undefined),
};

function isInstant(value: Value): value is Date {
  return value instanceof Date && !Number.isNaN(value.getTime());
}

/**
 * Returns a function that converts the values of a column to plain ones. Texts are read as the
 * declared type; an empty one is `null` for every type except `text`.
 */
export function plainCast(type: DeclaredType): (vector: Vector) => Mapped {
  const [parse, plain] = [parserOf(type), plains[type]];
  const unfit = new Unfit(`is not ${expectations[type]}`);
  return mapping((value) => {
    const parsed = typeof value === 'string' ? parse(value) : value;
    if (parsed === null) return null;
    return (parsed === undefined ? undefined : plain(parsed)) ?? unfit;
  });
}

/** Returns the value that a plain one represents. */
export function valueOf(plain: Plain, type: DeclaredType): Value {
  if (typeof plain !== 'number') return plain;
  if (type === 'integer') return BigInt(plain);
  return type === 'timestamp' || type === 'date' ? new Date(plain) : plain;
}

/** Returns the type by which plain values are compared: texts by code points, all others as numbers. */
export function comparedAs(type: DeclaredType): DeclaredType {
  return type === 'text' ? 'text' : 'decimal';
}

/** Returns the order of the plain values of a type; `null` comes last. */
export function comparingPlain(type: DeclaredType): Compare {
  return comparing(comparedAs(type));
}

/** Returns a value of a column of plain values. */
export function plainOf(vector: Vector, row: number): Plain {
  // Such a column has no instants.
  return vector.value(row) as Plain;
}

/** Returns the plain value at an index; it must exist. */
export function plainAt(values: readonly Plain[], index: number): Plain {
  const value = values[index];
  return value === null ? null : itemAt(values, index);
}

/** Returns the approximate size of a plain value in bytes. */
export function bytesOf(plain: Plain): number {
  return typeof plain === 'string' ? 24 + plain.length : typeof plain === 'bigint' ? 24 : 8;
}
