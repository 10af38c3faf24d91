import { declaredTypes, msPerDay, type DeclaredType, type Value } from '../../core/index.js';
import { daysOf } from '../../vector/index.js';

/** The primitive types that we write: https://iceberg.apache.org/spec/#primitive-types */
export type PrimitiveType = 'boolean' | 'int' | 'long' | 'double' | 'date' | 'timestamptz' | 'string';

export const primitiveTypes: Readonly<Record<DeclaredType, PrimitiveType>> = {
  text: 'string',
  flag: 'boolean',
  integer: 'long',
  decimal: 'double',
  timestamp: 'timestamptz',
  date: 'date',
};

export function declaredTypeOf(type: unknown): DeclaredType | undefined {
  return declaredTypes.find((declared) => primitiveTypes[declared] === type);
}

/** https://iceberg.apache.org/spec/#avro */
export const avroTypes: Readonly<Record<PrimitiveType, string | Readonly<Record<string, unknown>>>> = {
  boolean: 'boolean',
  int: 'int',
  long: 'long',
  double: 'double',
  date: { type: 'int', logicalType: 'date' },
  timestamptz: { type: 'long', logicalType: 'timestamp-micros', 'adjust-to-utc': true },
  string: 'string',
};

export type AvroValue = string | boolean | number | bigint | null;

/** Returns a value as Avro stores it: dates in days, timestamps in microseconds. */
export function avroValue(value: Value, type: PrimitiveType): AvroValue {
  if (value instanceof Date) return type === 'date' ? daysOf(value) : BigInt(value.getTime()) * 1000n;
  return typeof value === 'bigint' && type !== 'long' ? Number(value) : value;
}

/** Returns a value that Avro stores; fractions of milliseconds are dropped. */
export function valueOf(value: unknown, type: DeclaredType): Value {
  if (typeof value === 'bigint' || typeof value === 'number') {
    if (type === 'date') return new Date(Number(value) * msPerDay);
    if (type === 'timestamp') return new Date(Number(BigInt(value) / 1000n));
    return type === 'integer' ? BigInt(value) : Number(value);
  }
  return typeof value === 'string' || typeof value === 'boolean' ? value : null;
}

/** https://iceberg.apache.org/spec/#binary-single-value-serialization */
export function singleValue(value: NonNullable<AvroValue>, type: PrimitiveType): Buffer {
  const bytes = Buffer.alloc(8);
  switch (type) {
    case 'string':
      return Buffer.from(String(value));
    case 'boolean':
      return Buffer.of(value === true ? 1 : 0);
    case 'int':
    case 'date':
      return bytes.subarray(0, bytes.writeInt32LE(Number(value)));
    case 'long':
    case 'timestamptz':
      return bytes.subarray(0, bytes.writeBigInt64LE(BigInt(value)));
    case 'double':
      return bytes.subarray(0, bytes.writeDoubleLE(Number(value)));
  }
}

/** Characters that a bound of texts keeps, as by default elsewhere (`truncate(16)`). */
const boundLength = 16;

export function lowerBound(value: Value | undefined, type: PrimitiveType): Buffer | undefined {
  if (value === undefined || value === null) return undefined;
  return singleValue(typeof value === 'string' ? beginningOf(value).join('') : (avroValue(value, type) ?? ''), type);
}

/** Returns `undefined` for a text that would be cut, if no text of the length that remains is larger. */
export function upperBound(value: Value | undefined, type: PrimitiveType): Buffer | undefined {
  if (typeof value !== 'string') return lowerBound(value, type);
  const characters = beginningOf(value);
  if (characters.join('') === value) return Buffer.from(value);
  while (characters.at(-1) === '\u{10ffff}') characters.pop();
  const last = characters.pop()?.codePointAt(0);
  if (last === undefined) return undefined;
  // There are no characters from U+D800 to U+DFFF.
  return Buffer.from(characters.join('') + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1));
}

function beginningOf(text: string): string[] {
  return [...text.slice(0, 2 * boundLength)].slice(0, boundLength);
}
