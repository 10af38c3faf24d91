import type { Value } from '../core/index.js';

/** The maximum number of values in a dictionary, which keeps caches by index small. */
export const maxDictionary = 65_536;

/**
 * A column of few distinct values: a dictionary, and for each row the index of its value.
 *
 * Batches of a run share a dictionary, which may grow while they use it; results cached for an index stay valid for that dictionary.
 * Columns that share their indices repeat in the same rows: where one has the same value again, so has the other.
 */
export class DictionaryVector {
  constructor(
    /** The dictionary, of at most `maxDictionary` values. */
    readonly values: readonly Value[],
    /** One per row. */
    readonly indices: Uint16Array,
  ) {}

  get length(): number {
    return this.indices.length;
  }

  value(row: number): Value {
    const index = this.indices[row];
    return index === undefined ? null : (this.values[index] ?? null);
  }

  /** Returns whether a row has no value or an empty text. */
  isEmpty(row: number): boolean {
    return this.value(row) === null || this.value(row) === '';
  }

  /** Returns the bytes of a row's text in UTF-8; 0 for anything but a text. */
  byteLength(row: number): number {
    const value = this.value(row);
    return typeof value === 'string' ? Buffer.byteLength(value) : 0;
  }

  /** Returns the bytes of memory used, without the dictionary. @param shared The objects counted already. */
  memory(shared: Set<object>): number {
    if (shared.has(this.indices)) return 0;
    shared.add(this.indices);
    return this.indices.byteLength;
  }

  toArray(): readonly Value[] {
    return Array.from(this.indices, (index) => this.values[index] ?? null);
  }

  /** Returns the values of some rows, in the given order. */
  take(rows: readonly number[]): DictionaryVector {
    return new DictionaryVector(this.values, takeIndices(this.indices, rows));
  }
}

export function takeIndices(indices: Uint16Array, rows: readonly number[]): Uint16Array {
  return Uint16Array.from(rows, (row) => indices[row] ?? 0);
}

/**
 * Computes something about the values of a dictionary that rows use. `add` is called once for each index, in the order of the rows.
 *
 * Memory: the results for the most recent dictionary.
 *
 * @param begin Creates the empty results for another dictionary.
 */
export function perDictionary<S>(begin: () => S, add: (found: S, value: Value, index: number) => void): (vector: DictionaryVector) => S {
  // One of maximum size for every column would fill the memory of a run with many columns.
  let seen = new Uint8Array(0);
  let known: readonly Value[] | undefined;
  let last: Uint16Array | undefined;
  let found = begin();

  return ({ values, indices }) => {
    if (values !== known) {
      known = values;
      last = undefined;
      found = begin();
      seen.fill(0);
    }
    if (indices === last) return found;
    for (let row = 0; row < indices.length; row += 1) {
      const index = indices[row] ?? 0;
      if (seen[index] === 1) continue;
      if (index >= seen.length) seen = longerThan(index, seen);
      add(found, values[index] ?? null, index);
      seen[index] = 1;
    }
    last = indices;
    return found;
  };
}

function longerThan(index: number, seen: Uint8Array): Uint8Array<ArrayBuffer> {
  const longer = new Uint8Array(Math.max(64, 2 * (index + 1)));
  longer.set(seen);
  return longer;
}

/** Puts a value into a dictionary derived from another one. Indices not seen yet hold `null`. */
export function putAt(dictionary: Value[], index: number, value: Value): void {
  while (dictionary.length <= index) dictionary.push(null);
  dictionary[index] = value;
}
