import type * as V8 from 'node:v8';
import type { Value } from '../core/index.js';
import { RecordBatch } from './record-batch.js';
import { FlatVector, Utf8Vector, type Vector } from './vectors.js';

/** The stored form of a column. Texts are bytes and end offsets; other values have their instants as milliseconds, in the rows listed. */
type Stored =
  | { readonly bytes: Uint8Array; readonly ends: Int32Array }
  | { readonly values: readonly Value[]; readonly instants: Uint32Array };

/** Serializes a batch for a file that only this process reads; the format may differ between Node versions. */
export function encodeBlock({ length, columns }: RecordBatch): Buffer {
  return v8().serialize({ length, columns: Array.from(columns, ([name, vector]) => [name, stored(vector)]) });
}

/** Restores a batch from these bytes. */
export function decodeBlock(block: Buffer): RecordBatch {
  // The output of encodeBlock.
  const { length, columns } = v8().deserialize(block) as {
    readonly length: number;
    readonly columns: readonly (readonly [string, Stored])[];
  };
  return new RecordBatch(length, new Map(columns.map(([name, column]) => [name, restored(column, length)])));
}

function stored(vector: Vector): Stored {
  if (!(vector instanceof Utf8Vector)) return storedValues(vector.toArray());
  const ends = new Int32Array(vector.length);
  const pieces: Uint8Array[] = [];
  let end = 0;
  for (let row = 0; row < vector.length; row += 1) {
    pieces.push(vector.bytes.subarray(vector.start(row), vector.end(row)));
    end += vector.byteLength(row);
    ends[row] = end;
  }
  return { bytes: Buffer.concat(pieces, end), ends };
}

function storedValues(values: readonly Value[]): Stored {
  const instants: number[] = [];
  const plain = values.map((value, row) => {
    if (!(value instanceof Date)) return value;
    instants.push(row);
    return value.getTime();
  });
  return { values: plain, instants: Uint32Array.from(instants) };
}

function restoredValues(values: readonly Value[], instants: Uint32Array): FlatVector {
  const restored = [...values];
  for (const row of instants) restored[row] = new Date(Number(values[row]));
  return new FlatVector(restored);
}

function restored(column: Stored, length: number): Vector {
  if ('values' in column) return restoredValues(column.values, column.instants);
  const bounds = new Int32Array(2 * length);
  for (let row = 0; row < length; row += 1) {
    bounds[2 * row] = row === 0 ? 0 : (column.ends[row - 1] ?? 0);
    bounds[2 * row + 1] = column.ends[row] ?? 0;
  }
  const { buffer, byteOffset, byteLength } = column.bytes;
  return new Utf8Vector(Buffer.from(buffer, byteOffset, byteLength), bounds, 0, 2, length);
}

/** Loaded on demand, since few processes need it. */
function v8(): typeof V8 {
  return process.getBuiltinModule('node:v8');
}
