import type { Vector } from './vector.js';

/** One column of a row group in Arrow's memory layout. */
export interface ColumnBytes {
  readonly nulls: number;
  /** One bit per row, the lowest first, set if there is a value; empty if every row has one. */
  readonly validity: Uint8Array;
  /** The end offsets of the texts, preceded by a 0, 32 bits each; empty for other types. */
  readonly offsets: Uint8Array;
  /** UTF-8, bits for flags, or little-endian numbers. */
  readonly data: Uint8Array;
  /** Whether a dictionary may save space. For texts this is estimated from a sample. */
  readonly repeats: boolean;
}

/** Collects the values of a column as bytes, so that no value stays an object until its row group is complete. */
export interface ColumnBuilder {
  /**
   * Adds the values of the rows from `from` to before `to`, each in the column's declared type or `null`.
   *
   * @returns The size of their text in bytes of UTF-8.
   */
  append(vector: Vector, from: number, to: number): number;
  /** Returns the bytes so far, which the next `append` may change. */
  bytes(): ColumnBytes;
  /** Starts over, and keeps the memory allocated. */
  clear(): void;
}
