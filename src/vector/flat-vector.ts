import type { Value } from '../core/index.js';

/** A column of values one by one: what something made of texts, and what does not come as bytes. */
export class FlatVector {
  constructor(readonly values: readonly Value[]) {}

  /** A column that has no value in any row. */
  static ofNulls(length: number): FlatVector {
    return new FlatVector(new Array<null>(length).fill(null));
  }

  get length(): number {
    return this.values.length;
  }

  value(row: number): Value {
    return this.values[row] ?? null;
  }

  /** Whether a row has no value or an empty text. */
  isEmpty(row: number): boolean {
    return this.value(row) === null || this.value(row) === '';
  }

  /** Bytes of a row's text in UTF-8; 0 for what is no text. */
  byteLength(row: number): number {
    const value = this.value(row);
    return typeof value === 'string' ? Buffer.byteLength(value) : 0;
  }

  /** About how many bytes of memory it takes. */
  memory(): number {
    let bytes = 0;
    for (const value of this.values) bytes += typeof value === 'string' ? 24 + 2 * value.length : 16;
    return bytes;
  }

  toArray(): readonly Value[] {
    return this.values;
  }

  /** The values of some rows, in the order given. */
  take(rows: readonly number[]): FlatVector {
    return new FlatVector(rows.map((row) => this.values[row] ?? null));
  }
}
