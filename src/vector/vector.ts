import type { Value } from '../core/index.js';
import { DictionaryVector, takeIndices } from './dictionary-vector.js';
import type { FlatVector } from './flat-vector.js';
import { Utf8Vector } from './utf8-vector.js';

/** A column of a batch: texts as they came, values by a dictionary where they are few, or values one by one. */
export type Vector = Utf8Vector | DictionaryVector | FlatVector;

/** What takes the values of some rows out of columns, in the order given; columns that share their indices still do. */
export function taking(rows: readonly number[]): (vector: Vector) => Vector {
  const taken = new Map<Uint16Array, Uint16Array>();
  return (vector) => {
    if (!(vector instanceof DictionaryVector)) return vector.take(rows);
    const indices = taken.get(vector.indices) ?? takeIndices(vector.indices, rows);
    taken.set(vector.indices, indices);
    return new DictionaryVector(vector.values, indices);
  };
}

/** The first value of a column that is neither a text nor `null`, if there is one: bytes are texts, and need no look. */
export function firstOtherThanText(vector: Vector): Value | undefined {
  if (vector instanceof Utf8Vector) return undefined;
  for (let row = 0; row < vector.length; row += 1) {
    const value = vector.value(row);
    if (value !== null && typeof value !== 'string') return value;
  }
  return undefined;
}
