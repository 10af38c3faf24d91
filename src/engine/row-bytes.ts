import type * as V8 from 'node:v8';
import { itemAt, type Value } from '../core/index.js';
import { FlatVector, RecordBatch, Utf8Vector } from '../vector/index.js';

/**
 * Rows as bytes, one by one: every value comes back as it was, in the same process.
 *
 * A row is the number of its shape and a word per column: the length of a text, or that the value is `null` or another one. Then come the texts in UTF-8, and the
 * other values, serialized together, instants as numbers.
 */
export class RowBytes {
  /** The lists of columns so far. */
  readonly #shapes: (readonly string[])[] = [];
  readonly #known = new Map<string, number>();

  encode({ length, columns }: RecordBatch): readonly Buffer[] {
    const names = [...columns.keys()];
    const shape = this.#known.get(JSON.stringify(names)) ?? this.#shapes.push(names) - 1;
    this.#known.set(JSON.stringify(names), shape);
    const vectors = [...columns.values()];
    return Array.from({ length }, (_, row) => {
      const head = Buffer.allocUnsafe(word * (1 + vectors.length));
      head.writeInt32LE(shape);
      const [texts, others]: [Uint8Array[], Value[]] = [[], []];
      vectors.forEach((vector, column) => {
        const value = vector instanceof Utf8Vector ? vector.bytes.subarray(vector.start(row), vector.end(row)) : textIn(vector.value(row));
        if (value instanceof Uint8Array) texts.push(value);
        else if (value !== null) others.push(value instanceof Date ? value.getTime() : value);
        head.writeInt32LE(value instanceof Uint8Array ? value.length : kindOf(value), word * (1 + column));
      });
      return Buffer.concat([head, ...texts, ...(others.length > 0 ? [v8().serialize(others)] : [])]);
    });
  }

  /** Restores rows as a batch. A column that some rows lack is `null` there. */
  decode(rows: readonly Uint8Array[]): RecordBatch {
    const bytes = Buffer.concat(rows);
    const columns = new Map<string, Restored>();
    let start = 0;
    for (const [row, { length }] of rows.entries()) {
      const names = itemAt(this.#shapes, bytes.readInt32LE(start));
      let at = start + word * (1 + names.length);
      const others: { readonly column: Restored; readonly isDate: boolean }[] = [];
      names.forEach((name, index) => {
        const column = columns.get(name) ?? new Restored(rows.length);
        columns.set(name, column);
        const size = bytes.readInt32LE(start + word * (1 + index));
        if (size >= 0) column.putText(row, at, (at += size));
        else if (size !== isNull) others.push({ column, isDate: size === isInstant });
      });
      start += length;
      // The output of encode.
      const values = others.length > 0 ? (v8().deserialize(bytes.subarray(at, start)) as Value[]) : [];
      others.forEach(({ column, isDate }, index) => {
        const value = itemAt(values, index);
        column.put(row, isDate ? new Date(Number(value)) : value);
      });
    }
    return new RecordBatch(rows.length, new Map(Array.from(columns, ([name, column]) => [name, column.vector(bytes)])));
  }
}

const word = 4;
const isNull = -1;
const isOther = -2;
const isInstant = -3;

function kindOf(value: Value): number {
  return value === null ? isNull : value instanceof Date ? isInstant : isOther;
}

/** Returns a text as bytes; other values and texts that a `Utf8Vector` cannot hold, as they are. */
function textIn(value: Value): Value | Buffer {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0') ? Buffer.from(value) : value;
}

class Restored {
  readonly #bounds: Int32Array;
  readonly #others = new Map<number, Value>();
  #texts = 0;

  constructor(private readonly rows: number) {
    this.#bounds = new Int32Array(2 * rows).fill(-1);
  }

  putText(row: number, start: number, end: number): void {
    this.#bounds[2 * row] = start;
    this.#bounds[2 * row + 1] = end;
    this.#texts += 1;
  }

  put(row: number, value: Value): void {
    this.#others.set(row, value);
  }

  vector(bytes: Buffer): Utf8Vector | FlatVector {
    const texts = new Utf8Vector(bytes, this.#bounds, 0, 2, this.rows);
    if (this.#texts === this.rows) return texts;
    const valueAt = (row: number) => this.#others.get(row) ?? (texts.start(row) < 0 ? null : texts.value(row));
    return new FlatVector(Array.from({ length: this.rows }, (_, row) => valueAt(row)));
  }
}

/** Loaded on demand, since few processes need it. */
function v8(): typeof V8 {
  return process.getBuiltinModule('node:v8');
}
