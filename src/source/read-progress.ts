import type { RecordBatch } from '../vector/index.js';
import { fingerprintOf } from './fingerprint.js';

/** The page that was read last. */
export interface LastPage {
  readonly number: number;
  readonly rows: number;
  /** What the last row is told apart by. */
  readonly name: string;
  /** Tells the page from others. */
  readonly fingerprint: string;
}

/** Where a read of a list has got to, by position. */
export class ReadProgress {
  /** Rows on the pages read, repeated keys included. */
  rows = 0;
  pages = 0;
  /** Rows of the longest page. */
  largest = 0;
  /** Number of the first page that was shorter than one before it, and was not the last. */
  short: number | undefined;
  last: LastPage | undefined;
  /** What the first row of the list is told apart by. */
  first: string | undefined;

  /**
   * Takes a page, in order. The last page may come again, with what has been added to it.
   *
   * @returns Position of its first row, and how many of its rows had been read before.
   */
  take(number: number, batch: RecordBatch, names: readonly string[]): { readonly position: number; readonly known: number } {
    const known = this.last?.number === number ? this.last.rows : 0;
    const position = this.rows - known;
    this.rows = position + batch.length;
    if (known === 0) this.pages += 1;
    if (known === 0 && batch.length > 0 && this.last && this.last.rows < this.largest) this.short ??= this.last.number;
    this.largest = Math.max(this.largest, batch.length);
    this.first ??= names[0];
    const name = names.at(-1);
    if (name !== undefined) this.last = { number, rows: batch.length, name, fingerprint: fingerprintOf(batch) };
    return { position, known };
  }

  /** Whether the last page is as long as pages get, so that the next may have more rows. */
  endsFull(limit: number): boolean {
    return this.last === undefined || this.last.rows >= (this.pages > 1 ? this.largest : limit);
  }
}
