import type { Value } from '../../src/core/index.js';
import { FlatVector, Utf8Vector, type Vector } from '../../src/vector/index.js';

/** Makes a column: as bytes if an answer can contain all its values as texts, otherwise as values. */
export function vectorOf(values: readonly Value[]): Vector {
  return values.every(isPlainText) ? textsOf(values.map(String)) : new FlatVector(values);
}

/** Whether an answer can contain a value as bytes: no lone surrogate, no NUL. */
export function isPlainText(value: Value): boolean {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

/** Stores texts one after another in a buffer, with other bytes between them, before the first and, if requested, after the last. */
export function textsOf(values: readonly string[], behind = '"'): Utf8Vector {
  const bounds = new Int32Array(3 * values.length + 1);
  let end = 1;
  for (const [index, value] of values.entries()) {
    bounds[1 + 3 * index] = end;
    bounds[2 + 3 * index] = end += Buffer.byteLength(value);
    end += 3;
  }
  return new Utf8Vector(Buffer.from(`"${values.join('","')}${behind}`), bounds, 1, 3, values.length);
}
