import { msPerDay, type Value, type DeclaredType } from '../core/index.js';
import { memoByIndex, memoOf } from './memo.js';
import type { RecordBatch } from './record-batch.js';
import { DictionaryVector, type Vector } from './vectors.js';

export type Normalize = (text: string) => string;

type Part = (row: number) => string | undefined;

const asItIs: Normalize = (text) => text;

/** Combines values into a text that is unique for them; `undefined` if one is `null` or empty: such a key identifies nothing. */
export function keyOf(values: readonly Value[], normalize: Normalize = asItIs): string | undefined {
  return joined(values.map((value) => partOf(value, normalize)));
}

/** Returns the key of a batch's rows by index. Only these columns are read; a missing one is `null` in every row. */
export function keysOf(batch: RecordBatch, columns: readonly string[], normalize: Normalize = asItIs): Part {
  return together(columns.map((name) => partsOf(batch.columnOrNulls(name), normalize)));
}

/** Caches a function's results by rows' keys, across batches, for a key of one column, or of several that share their indices. */
export function memoByKey<R>(
  columns: readonly string[],
  find: (key: string | undefined) => R,
  normalize: Normalize = asItIs,
): (batch: RecordBatch) => (row: number) => R {
  const byValue = memoOf((value) => find(partOf(value, normalize)));
  const byIndex = memoByIndex((values) => find(keyOf(values, normalize)));
  const parts = columns.map((name) => ({ name, partsIn: memoOf((value) => partOf(value, normalize)) }));

  return (batch) => {
    const vectors = columns.map((name) => batch.columnOrNulls(name));
    const [first] = vectors;
    if (first && vectors.length === 1) return byValue(first);
    if (shareIndices(vectors)) return byIndex(vectors);
    const keyAt = together(parts.map(({ name, partsIn }) => partsIn(batch.columnOrNulls(name))));
    return (row) => find(keyAt(row));
  };
}

function shareIndices(vectors: readonly Vector[]): vectors is readonly DictionaryVector[] {
  const [first] = vectors;
  return (
    first instanceof DictionaryVector && vectors.every((other) => other instanceof DictionaryVector && other.indices === first.indices)
  );
}

function partsOf(vector: Vector, normalize: Normalize): Part {
  return (row) => (vector.isEmpty(row) ? undefined : partOf(vector.value(row), normalize));
}

function together(parts: readonly Part[]): Part {
  const [first] = parts;
  return first && parts.length === 1 ? first : (row) => joined(parts.map((partAt) => partAt(row)));
}

/** A single text stays as it is; each of several is prefixed by its length. */
function joined(parts: readonly (string | undefined)[]): string | undefined {
  if (parts.length <= 1) return parts[0];
  let key = '';
  for (const part of parts) {
    if (part === undefined) return undefined;
    key += `${part.length}:${part}`;
  }
  return key;
}

function partOf(value: Value, normalize: Normalize): string | undefined {
  if (value === null) return undefined;
  const text = normalize(typeof value === 'string' ? value : value instanceof Date ? value.toISOString() : String(value));
  return text === '' ? undefined : text;
}

/** Returns below 0 if the first value comes first, above 0 if the second does. */
export type Compare = (one: Value, other: Value) => number;

/** Returns the order in which Parquet stores and searches a type's values; `null` comes last in both directions. */
export function comparing(type: DeclaredType, descending = false): Compare {
  const compare = compares[type] ?? byValue;
  return (one, other) => {
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return descending ? compare(other, one) : compare(one, other);
  };
}

/** Returns the days since 1970 of an instant, rounded down, as in Parquet's DATE. */
export function daysOf(date: Date): number {
  return Math.floor(date.getTime() / msPerDay);
}

const byValue: Compare = (one, other) => {
  if (one === null || other === null) return 0;
  return one < other ? -1 : one > other ? 1 : 0;
};

const compares: Readonly<Partial<Record<DeclaredType, Compare>>> = {
  text: (one, other) => (typeof one === 'string' && typeof other === 'string' ? compareTexts(one, other) : 0),
  // Two times of a day are the same date, so the next key decides.
  date: (one, other) => (one instanceof Date && other instanceof Date ? daysOf(one) - daysOf(other) : 0),
};

/** Compares well-formed texts by their UTF-8 bytes, that is by code points: surrogates come after the whole BMP. */
export function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const a = one.charCodeAt(at);
    const b = other.charCodeAt(at);
    if (a !== b) return rank(a) - rank(b);
  }
  return one.length - other.length;
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x2800 : unit;
}
