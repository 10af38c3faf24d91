import type { Value } from '../core/index.js';

/** A dictionary has no more values, so that what is remembered by index stays small. */
export const maxDictionary = 65_536;

/**
 * A column of few different values: a dictionary, and for each row the index of its value there.
 *
 * Batches of a run share a dictionary, which may grow as long as it is theirs; what was found for an index stays true for that
 * dictionary. Columns that share their indices have the same rows in common: where one has the same value again, so has the other.
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

  /** Whether a row has no value or an empty text. */
  isEmpty(row: number): boolean {
    return this.value(row) === null || this.value(row) === '';
  }

  /** Bytes of a row's text in UTF-8; 0 for what is no text. */
  byteLength(row: number): number {
    const value = this.value(row);
    return typeof value === 'string' ? Buffer.byteLength(value) : 0;
  }

  /** Bytes of memory that it takes, without the dictionary. @param shared What was counted already. */
  memory(shared: Set<object>): number {
    if (shared.has(this.indices)) return 0;
    shared.add(this.indices);
    return this.indices.byteLength;
  }

  toArray(): readonly Value[] {
    return Array.from(this.indices, (index) => this.values[index] ?? null);
  }

  /** The values of some rows, in the order given. */
  take(rows: readonly number[]): DictionaryVector {
    return new DictionaryVector(this.values, takeIndices(this.indices, rows));
  }
}

export function takeIndices(indices: Uint16Array, rows: readonly number[]): Uint16Array {
  return Uint16Array.from(rows, (row) => indices[row] ?? 0);
}

/**
 * Finds something out about the values of a dictionary that rows have, once for each: `add` is told of the indices that did not come
 * before, in the order of the rows.
 *
 * Memory: what was found out about the dictionary that came last.
 *
 * @param begin Begins anew, with another dictionary.
 */
export function perDictionary<S>(begin: () => S, add: (found: S, value: Value, index: number) => void): (vector: DictionaryVector) => S {
  // One of the largest size for every column would fill the memory of a run with many.
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

/** Puts a value into a dictionary that is made of another one. What stands for indices that did not come yet is `null`. */
export function putAt(dictionary: Value[], index: number, value: Value): void {
  while (dictionary.length <= index) dictionary.push(null);
  dictionary[index] = value;
}
