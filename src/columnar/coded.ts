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
 * Finds something out about every value of a dictionary, once: `add` is told of each value that a dictionary has got since the
 * last page, in order of their codes.
 *
 * Memory: what was found out about the dictionary that came last.
 *
 * @param begin Begins anew, with another dictionary.
 */
export function perDictionary<S>(begin: () => S, add: (found: S, value: Value) => void): (coded: Coded) => S {
  let known: readonly Value[] | undefined;
  let found = begin();
  let size = 0;

  return ({ values }) => {
    if (values !== known) {
      known = values;
      found = begin();
      size = 0;
    }
    for (; size < values.length; size += 1) add(found, values[size] ?? null);
    return found;
  };
}
