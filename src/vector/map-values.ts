import type { Value } from '../core/index.js';
import { memoOfTexts } from './memo.js';
import { DictionaryVector, FlatVector, perDictionary, putAt, type Utf8Vector, type Vector } from './vectors.js';

/** The reason why a value does not fit a column. */
export class Unfit {
  constructor(readonly reason: string) {}
}

/** The result of mapping a column. */
export interface Mapped {
  /** `null` in rows whose value did not fit. */
  readonly vector: Vector;
  /** Returns why a row's value did not fit; `undefined` if all did. */
  readonly unfit: ((row: number) => string | undefined) | undefined;
}

interface MappingOptions {
  /** A fast path for some texts, by their bytes; returns `undefined` where it does not apply. */
  readonly quick?: ((texts: Utf8Vector, row: number) => Value | undefined) | undefined;
  /** Whether texts received as bytes are kept unchanged. Default false. */
  readonly keepsBytes?: boolean;
  /** Maximum number of cached texts. Default: as in `memoOfTexts`. */
  readonly most?: number | undefined;
}

/**
 * Maps the values of a column, batch by batch: each dictionary value once, and each text once while it is cached (see `memoOfTexts`).
 *
 * @param find Depends only on the value. If it throws, the first row with that value fails.
 */
export function mapping(
  find: (value: Value) => Value | Unfit,
  { quick, keepsBytes = false, most }: MappingOptions = {},
): (vector: Vector) => Mapped {
  const ofText = memoOfTexts(find, most);
  const ofDictionary = perDictionary(
    () => new Outcomes([]),
    (outcomes, value, index) => outcomes.put(index, find(value)),
  );

  function mapTexts(texts: Utf8Vector): Mapped {
    const outcomes = new Outcomes(new Array<Value>(texts.length));
    for (let row = 0; row < texts.length; row += 1) {
      const quickly = quick?.(texts, row);
      if (quickly === undefined) outcomes.put(row, ofText(texts, row));
      else outcomes.values[row] = quickly;
    }
    return outcomes.mapped();
  }

  function mapDictionary(vector: DictionaryVector): Mapped {
    let outcomes: Outcomes;
    try {
      outcomes = ofDictionary(vector);
    } catch {
      // The failure belongs to a row, after the unfit values of earlier rows.
      return mappedFrom(vector.toArray(), find);
    }
    const { values, reasons } = outcomes;
    return {
      vector: new DictionaryVector(values, vector.indices),
      unfit: reasons.size === 0 ? undefined : (row) => reasons.get(vector.indices[row] ?? 0),
    };
  }

  return (vector) => {
    if (vector instanceof DictionaryVector) return mapDictionary(vector);
    if (vector instanceof FlatVector) return mappedFrom(vector.values, find);
    return keepsBytes ? { vector, unfit: undefined } : mapTexts(vector);
  };
}

/** Creates a column of a function's results for some items, in order. */
export function mappedFrom<T>(items: readonly T[], find: (item: T) => Value | Unfit): Mapped {
  const outcomes = new Outcomes(new Array<Value>(items.length));
  for (const [row, item] of items.entries()) outcomes.put(row, find(item));
  return outcomes.mapped();
}

/** The results for values, by row or by index. */
class Outcomes {
  readonly reasons = new Map<number, string>();

  constructor(readonly values: Value[]) {}

  put(place: number, outcome: Value | Unfit): void {
    const isUnfit = outcome instanceof Unfit;
    if (isUnfit) this.reasons.set(place, outcome.reason);
    putAt(this.values, place, isUnfit ? null : outcome);
  }

  mapped(): Mapped {
    const { values, reasons } = this;
    return { vector: new FlatVector(values), unfit: reasons.size === 0 ? undefined : (row) => reasons.get(row) };
  }
}
