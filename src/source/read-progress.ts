import type { RecordBatch } from '../vector/index.js';
import { fingerprintOf } from './fingerprint.js';

/** The last page read. */
export interface LastPage {
  readonly number: number;
  readonly rows: number;
  /** The name of the last row, which identifies it. */
  readonly name: string;
  /** Identifies the page. */
  readonly fingerprint: string;
}

/** How far a read of a list has progressed, by position. */
export class ReadProgress {
  /** Rows on the pages read, including repeated keys. */
  rows = 0;
  pages = 0;
  /** Rows of the longest page. */
  largest = 0;
  /** Number of the first page that was shorter than an earlier one, and not the last. */
  short: number | undefined;
  last: LastPage | undefined;
  /** The name of the list's first row, which identifies it. */
  first: string | undefined;

  /**
   * Adds a page, in order. The last page may come again, with rows added to it.
   *
   * @returns Position of its first row, and how many of its rows were already read.
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

  /** Returns whether the last page has maximum length, so that the next may have more rows. */
  endsFull(limit: number): boolean {
    return this.last === undefined || this.last.rows >= (this.pages > 1 ? this.largest : limit);
  }
}
