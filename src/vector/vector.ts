import type { Value } from '../core/index.js';
import { DictionaryVector, takeIndices } from './dictionary-vector.js';
import type { FlatVector } from './flat-vector.js';
import { Utf8Vector } from './utf8-vector.js';

/** A column of a batch: texts as received, values in a dictionary if few are distinct, or single values. */
export type Vector = Utf8Vector | DictionaryVector | FlatVector;

/** Returns a function that takes some rows out of columns, in the given order; columns that share their indices still do afterwards. */
export function taking(rows: readonly number[]): (vector: Vector) => Vector {
  const taken = new Map<Uint16Array, Uint16Array>();
  return (vector) => {
    if (!(vector instanceof DictionaryVector)) return vector.take(rows);
    const indices = taken.get(vector.indices) ?? takeIndices(vector.indices, rows);
    taken.set(vector.indices, indices);
    return new DictionaryVector(vector.values, indices);
  };
}

/** Returns the first value of a column that is neither a text nor `null`, if any. Columns of bytes contain only texts, and are not searched. */
export function firstOtherThanText(vector: Vector): Value | undefined {
  if (vector instanceof Utf8Vector) return undefined;
  for (let row = 0; row < vector.length; row += 1) {
    const value = vector.value(row);
    if (value !== null && typeof value !== 'string') return value;
  }
  return undefined;
}
