import type { Value } from '../core/index.js';
import { DictionaryVector } from './dictionary-vector.js';
import { memoByIndex, memoOf } from './memo.js';
import type { RecordBatch } from './record-batch.js';
import type { Vector } from './vector.js';

/** What is done with a text before it becomes a part of a key. */
export type Normalize = (text: string) => string;

type Part = (row: number) => string | undefined;

const asItIs: Normalize = (text) => text;

/**
 * One text for some values, such that different values give different texts.
 *
 * @returns `undefined` when a value is `null` or empty: such a key identifies nothing.
 */
export function keyOf(values: readonly Value[], normalize: Normalize = asItIs): string | undefined {
  const parts: string[] = [];
  for (const value of values) {
    const part = partOf(value, normalize);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return joined(parts);
}

/**
 * The same for the rows of a batch by their index. No more of it is looked at than these columns; one that it lacks is `null`
 * throughout.
 */
export function keysOf(batch: RecordBatch, columns: readonly string[], normalize: Normalize = asItIs): Part {
  return together(columns.map((name) => partsOf(batch.columnOrNulls(name), normalize)));
}

/**
 * Remembers what a function finds for the keys of rows, over all batches. Where a key is one column, or several that share their
 * indices, what was found for a value that came before is not looked for again.
 *
 * @param find Depends on nothing but the key.
 */
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
  if (first && parts.length === 1) return first;
  return (row) => {
    const texts: string[] = [];
    for (const partAt of parts) {
      const text = partAt(row);
      if (text === undefined) return undefined;
      texts.push(text);
    }
    return joined(texts);
  };
}

/** A single text stands for itself; of several, each says how long it is. */
function joined(parts: readonly string[]): string {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  let key = '';
  for (const part of parts) key += `${part.length}:${part}`;
  return key;
}

function partOf(value: Value, normalize: Normalize): string | undefined {
  if (value === null) return undefined;
  const text = normalize(typeof value === 'string' ? value : value instanceof Date ? value.toISOString() : String(value));
  return text === '' ? undefined : text;
}
