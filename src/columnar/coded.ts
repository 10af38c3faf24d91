import type { Value } from '../collections/index.js';

/** A dictionary has no more values, so that what is remembered by code stays small. */
export const mostCodes = 65_536;

/**
 * A column of few different values: a dictionary, and for each row the place of its value there.
 *
 * Pages of a run share a dictionary, which may grow as long as it is theirs; what was found for a code stays true for that
 * dictionary. Columns that share their codes have the same rows in common: where one has the same value again, so has the other.
 */
export class Coded {
  constructor(
    /** The dictionary, of at most `mostCodes` values. */
    readonly values: readonly Value[],
    /** One per row. */
    readonly codes: Uint16Array,
  ) {}

  get length(): number {
    return this.codes.length;
  }

  value(row: number): Value {
    const code = this.codes[row];
    return code === undefined ? null : (this.values[code] ?? null);
  }
}

/**
 * Finds something out about the values of a dictionary that rows have, once for each: `add` is told of the codes that did not come
 * before, in the order of the rows.
 *
 * Memory: what was found out about the dictionary that came last.
 *
 * @param begin Begins anew, with another dictionary.
 */
export function perDictionary<S>(begin: () => S, add: (found: S, value: Value, code: number) => void): (coded: Coded) => S {
  // One of the largest size for every column would fill the memory of a run with many.
  let seen = new Uint8Array(0);
  let known: readonly Value[] | undefined;
  let last: Uint16Array | undefined;
  let found = begin();

  return ({ values, codes }) => {
    if (values !== known) {
      known = values;
      last = undefined;
      found = begin();
      seen.fill(0);
    }
    if (codes === last) return found;
    for (let row = 0; row < codes.length; row += 1) {
      const code = codes[row] ?? 0;
      if (seen[code] === 1) continue;
      if (code >= seen.length) seen = longerThan(code, seen);
      add(found, values[code] ?? null, code);
      seen[code] = 1;
    }
    last = codes;
    return found;
  };
}

function longerThan(code: number, seen: Uint8Array): Uint8Array<ArrayBuffer> {
  const longer = new Uint8Array(Math.max(64, 2 * (code + 1)));
  longer.set(seen);
  return longer;
}

/** Puts a value into a dictionary that is made of another one. What stands for codes that did not come yet is `null`. */
export function putAt(dictionary: Value[], code: number, value: Value): void {
  while (dictionary.length <= code) dictionary.push(null);
  dictionary[code] = value;
}
