import type { Value } from '../core/index.js';
import { DictionaryVector, perDictionary, putAt } from './dictionary-vector.js';
import { FlatVector } from './flat-vector.js';
import { memoOfTexts } from './memo.js';
import type { Utf8Vector } from './utf8-vector.js';
import type { Vector } from './vector.js';

/** Why a value has no place in a column. */
export class Unfit {
  constructor(readonly reason: string) {}
}

/** What became of the values of a column. */
export interface Mapped {
  /** `null` where a value was unfit. */
  readonly vector: Vector;
  /** Why the value of a row was unfit; `undefined` when none was. */
  readonly unfit: ((row: number) => string | undefined) | undefined;
}

export interface MappingOptions {
  /** A quick way for some texts, by their bytes; `undefined` says nothing of a text. */
  readonly quick?: ((texts: Utf8Vector, row: number) => Value | undefined) | undefined;
  /** Whether texts that came as bytes stay what they are. Default false. */
  readonly keepsBytes?: boolean;
  /** Texts that are remembered. Default: as `memoOfTexts`. */
  readonly most?: number | undefined;
}

/**
 * Maps the values of a column, batch by batch: each value of a dictionary once, each text once as long as it is remembered
 * (see `memoOfTexts`).
 *
 * @param find Depends on nothing but the value. Where it throws, the first row that has the value does.
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
      // What cannot be mapped at all fails in its row, behind those that are unfit before it.
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

/** Makes a column of what a function gives for each of some things, in their order. */
export function mappedFrom<T>(items: readonly T[], find: (item: T) => Value | Unfit): Mapped {
  const outcomes = new Outcomes(new Array<Value>(items.length));
  for (const [row, item] of items.entries()) outcomes.put(row, find(item));
  return outcomes.mapped();
}

/** What was found for values, by row or by index. */
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
