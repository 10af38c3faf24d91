import type { Value } from '../core/index.js';

/** A column of single values: those computed from texts, and those not received as bytes. */
export class FlatVector {
  constructor(readonly values: readonly Value[]) {}

  /** Creates a column without a value in any row. */
  static ofNulls(length: number): FlatVector {
    return new FlatVector(new Array<null>(length).fill(null));
  }

  get length(): number {
    return this.values.length;
  }

  value(row: number): Value {
    return this.values[row] ?? null;
  }

  /** Returns whether a row has no value or an empty text. */
  isEmpty(row: number): boolean {
    return this.value(row) === null || this.value(row) === '';
  }

  /** Returns the bytes of a row's text in UTF-8; 0 for anything but a text. */
  byteLength(row: number): number {
    const value = this.value(row);
    return typeof value === 'string' ? Buffer.byteLength(value) : 0;
  }

  /** Returns roughly how many bytes of memory it uses. */
  memory(): number {
    let bytes = 0;
    for (const value of this.values) bytes += typeof value === 'string' ? 24 + 2 * value.length : 16;
    return bytes;
  }

  toArray(): readonly Value[] {
    return this.values;
  }

  /** Returns the values of some rows, in the given order. */
  take(rows: readonly number[]): FlatVector {
    return new FlatVector(rows.map((row) => this.values[row] ?? null));
  }
}
