import type { Value } from '../../collections/index.js';
import type { Batch } from '../projection.js';

/** Texts of one row group, in UTF-16 units. A group closes when it has that many, however few its rows are. */
const maxText = 32 * 1024 * 1024;

/** The rows that wait to be encoded, as columns. */
export class RowGroup {
  #columns: Value[][];
  #rows = 0;
  #text = 0;

  /** @param maxRows Rows that close the group, at least 1. */
  constructor(
    private readonly width: number,
    private readonly maxRows: number,
  ) {
    this.#columns = Array.from({ length: width }, () => []);
  }

  get rows(): number {
    return this.#rows;
  }

  /** How many more rows it takes. */
  get room(): number {
    return this.#text >= maxText ? 0 : this.maxRows - this.#rows;
  }

  add(batch: Batch, from: number, to: number): void {
    for (const [index, column] of this.#columns.entries()) {
      const values = batch.columns[index] ?? [];
      for (let row = from; row < to; row += 1) {
        const value = values[row] ?? null;
        column.push(value);
        if (typeof value === 'string') this.#text += value.length;
      }
    }
    this.#rows += to - from;
  }

  /** Hands the rows over and begins anew. */
  take(): Batch {
    const batch = { rows: this.#rows, columns: this.#columns };
    this.#columns = Array.from({ length: this.width }, () => []);
    this.#rows = 0;
    this.#text = 0;
    return batch;
  }
}
