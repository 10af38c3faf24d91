import type { Vector } from './vector.js';

/** One column of a row group in Arrow's memory layout. */
export interface ColumnBytes {
  readonly nulls: number;
  /** One bit per row, the lowest first, set where there is a value; empty when every row has one. */
  readonly validity: Uint8Array;
  /** Where texts end, with a 0 before the first, 32 bits each; empty for other types. */
  readonly offsets: Uint8Array;
  /** UTF-8, bits for flags, or little-endian numbers. */
  readonly data: Uint8Array;
  /** Whether a dictionary may pay. Texts are looked up in a sample. */
  readonly repeats: boolean;
}

/** Collects the values of one column as bytes, so that no value has to stay an object until its row group is complete. */
export interface ColumnBuilder {
  /**
   * Adds the values of some rows, up to before `to`, each in the column's declared type or `null`.
   *
   * @returns How much text that was, in bytes of UTF-8.
   */
  append(vector: Vector, from: number, to: number): number;
  /** The bytes so far, which the next `append` may change. */
  bytes(): ColumnBytes;
  /** Begins anew and keeps the memory. */
  clear(): void;
}
