import { declaredTypes, msPerDay, type DeclaredType, type Value } from '../../core/index.js';
import { daysOf } from '../../vector/index.js';

/** The primitive types that we write: https://iceberg.apache.org/spec/#primitive-types */
export type PrimitiveType = keyof typeof avroTypes;

/** https://iceberg.apache.org/spec/#avro */
export const avroTypes = {
  boolean: 'boolean',
  int: 'int',
  long: 'long',
  double: 'double',
  date: { type: 'int', logicalType: 'date' },
  timestamptz: { type: 'long', logicalType: 'timestamp-micros', 'adjust-to-utc': true },
  string: 'string',
} as const;

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

/** Returns a value as Avro stores it: dates in days, timestamps in microseconds. */
export function avroValue(value: Value, type: PrimitiveType): string | boolean | number | bigint | null {
  if (value instanceof Date) return type === 'date' ? daysOf(value) : BigInt(value.getTime()) * 1000n;
  return typeof value === 'bigint' && type !== 'long' ? Number(value) : value;
}

/** Returns a value that Avro stores. */
export function valueOf(value: unknown, type: DeclaredType): Value {
  if (typeof value === 'bigint' || typeof value === 'number') {
    if (type === 'date') return new Date(Number(value) * msPerDay);
    // One between two milliseconds, by another program, must not be taken for the one before it.
    if (type === 'timestamp') return BigInt(value) % 1000n === 0n ? new Date(Number(BigInt(value) / 1000n)) : String(value);
    return type === 'integer' ? BigInt(value) : Number(value);
  }
  return typeof value === 'string' || typeof value === 'boolean' ? value : null;
}

/** https://iceberg.apache.org/spec/#binary-single-value-serialization */
function singleValue(value: ReturnType<typeof avroValue>, type: PrimitiveType): Buffer {
  const bytes = Buffer.alloc(8);
  if (type === 'string') return Buffer.from(String(value));
  if (type === 'boolean') return Buffer.of(Number(value));
  if (type === 'double') return bytes.subarray(0, bytes.writeDoubleLE(Number(value)));
  if (type === 'long' || type === 'timestamptz') return bytes.subarray(0, bytes.writeBigInt64LE(BigInt(value ?? 0)));
  return bytes.subarray(0, bytes.writeInt32LE(Number(value)));
}

export function lowerBound(value: Value | undefined, type: PrimitiveType): Buffer | undefined {
  if (value === undefined || value === null) return undefined;
  return singleValue(typeof value === 'string' ? beginningOf(value).join('') : avroValue(value, type), type);
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

/** Returns 16 characters, which is what bounds of other writers have by default. */
function beginningOf(text: string): string[] {
  return [...text.slice(0, 32)].slice(0, 16);
}
