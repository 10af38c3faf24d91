import { deserialize, serialize } from 'node:v8';
import { FlatVector } from './flat-vector.js';
import { RecordBatch } from './record-batch.js';
import { Utf8Vector } from './utf8-vector.js';
import type { Vector } from './vector.js';

/** What a column is in a block. Texts are bytes and where each ends. */
type Stored = { readonly bytes: Uint8Array; readonly ends: Int32Array } | { readonly values: readonly unknown[] };

/** A batch as bytes, for a file that this process reads again; other versions of Node may write others. */
export function encodeBlock({ length, columns }: RecordBatch): Buffer {
  return serialize({ length, columns: Array.from(columns, ([name, vector]) => [name, stored(vector)]) });
}

/** The batch that became these bytes. */
export function decodeBlock(block: Buffer): RecordBatch {
  // What encodeBlock wrote.
  const { length, columns } = deserialize(block) as { readonly length: number; readonly columns: readonly (readonly [string, Stored])[] };
  return new RecordBatch(length, new Map(columns.map(([name, column]) => [name, restored(column, length)])));
}

function stored(vector: Vector): Stored {
  if (!(vector instanceof Utf8Vector)) return { values: vector.toArray() };
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

function restored(column: Stored, length: number): Vector {
  if ('values' in column) return new FlatVector(column.values as FlatVector['values']);
  const bounds = new Int32Array(2 * length);
  for (let row = 0; row < length; row += 1) {
    bounds[2 * row] = row === 0 ? 0 : (column.ends[row - 1] ?? 0);
    bounds[2 * row + 1] = column.ends[row] ?? 0;
  }
  const { buffer, byteOffset, byteLength } = column.bytes;
  return new Utf8Vector(Buffer.from(buffer, byteOffset, byteLength), bounds, 0, 2, length);
}
