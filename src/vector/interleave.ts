import { itemAt, type Value } from '../core/index.js';
import { RecordBatch } from './record-batch.js';
import { FlatVector, Utf8Vector, type Vector } from './vectors.js';

/** Rows of several batches: the index of each row's batch, and its row there. Both have the same length. */
interface Picks {
  readonly batches: Uint32Array;
  readonly rows: Uint32Array;
}

/**
 * Combines rows of several batches, in the given order, as bytes if a column is bytes in all of them. A column missing from some batches is
 * `null` in their rows.
 */
export function interleave(batches: readonly RecordBatch[], picks: Picks): RecordBatch {
  const names = new Set(batches.flatMap(({ columns }) => [...columns.keys()]));
  const columns = Array.from(names, (name) => {
    const vectors = batches.map((batch) => batch.columnOrNulls(name));
    return [name, areTexts(vectors) ? interleaveTexts(vectors, picks) : interleaveValues(vectors, picks)] as const;
  });
  return new RecordBatch(picks.rows.length, new Map(columns));
}

function areTexts(vectors: readonly Vector[]): vectors is readonly Utf8Vector[] {
  return vectors.every((vector) => vector instanceof Utf8Vector);
}

function interleaveTexts(vectors: readonly Utf8Vector[], { batches, rows }: Picks): Utf8Vector {
  const bounds = new Int32Array(2 * rows.length);
  let length = 0;
  for (let index = 0; index < rows.length; index += 1) length += itemAt(vectors, itemAt(batches, index)).byteLength(itemAt(rows, index));
  const bytes = Buffer.allocUnsafe(length);
  let end = 0;
  for (let index = 0; index < rows.length; index += 1) {
    const vector = itemAt(vectors, itemAt(batches, index));
    const row = itemAt(rows, index);
    bounds[2 * index] = end;
    end += vector.bytes.copy(bytes, end, vector.start(row), vector.end(row));
    bounds[2 * index + 1] = end;
  }
  return new Utf8Vector(bytes, bounds, 0, 2, rows.length);
}

function interleaveValues(vectors: readonly Vector[], { batches, rows }: Picks): FlatVector {
  const values = new Array<Value>(rows.length);
  for (let index = 0; index < values.length; index += 1) values[index] = itemAt(vectors, itemAt(batches, index)).value(itemAt(rows, index));
  return new FlatVector(values);
}
