import type { OperatorFunction } from 'rxjs';
import { type Row, StepError } from '../core/index.js';
import { given } from '../options/index.js';
import { batchFromRows, rowGuard, type RecordBatch, type RowGuard } from '../vector/index.js';

/**
 * The right of a page to be in memory. A source hands out at most `window` of them; whoever takes a page to its
 * end releases it, once its rows are stored or handed to a bounded buffer. Releasing twice does nothing, and a page that nobody of ours took
 * is released when it was handed over.
 */
export interface Lease {
  release(): void;
}

/** The unit that travels through a chain: some rows of one page of the service, in order. `number` is 1-based. */
export interface Page<T = Row> {
  readonly number: number;
  /**
   * Of a page that leadstream made they are made when they are first asked for, and frozen: to change rows, give new ones, as with
   * `mapRows((row) => ({ ...row, zipcode: '' }))`. Changing them in place throws a `TypeError`; a date that is changed is changed for whoever has
   * this very page, as by `share()`, and for no step and no sink.
   */
  readonly rows: readonly T[];
  readonly lease: Lease;
}

/** One step of a chain: pages in, pages out, one for one, in order and with their leases; it may end before its input does. */
export type Step<In = Row, Out = Row> = OperatorFunction<Page<In>, Page<Out>>;

/** A page by columns. Copied by `...` it is one of rows, so that it may get other ones: a batch never stands for rows that are not its own. */
class BatchPage<T> implements Page<T> {
  declare readonly rows: readonly T[];
  readonly #batch: RecordBatch;

  constructor(
    readonly number: number,
    batch: RecordBatch,
    readonly lease: Lease,
  ) {
    this.#batch = batch;
    let rows: readonly Row[] | undefined;
    Object.defineProperty(this, 'rows', { enumerable: true, get: () => (rows ??= batch.rows()) });
  }

  get batch(): RecordBatch {
    return this.#batch;
  }
}

/** Whether a page is one by columns. */
export function isBatchPage<T>(page: Page<T>): page is Page<T> & { readonly batch: RecordBatch } {
  return page instanceof BatchPage;
}

export function pageOf<T = Row>(number: number, batch: RecordBatch, lease: Lease): Page<T> {
  return new BatchPage(number, batch, lease);
}

/** The same page with other rows, by columns. */
export function withBatch<T = Row>(page: Page<unknown>, batch: RecordBatch): Page<T> {
  return pageOf(page.number, batch, page.lease);
}

/** The same page with other rows. */
export function withRows<T>({ number, lease }: Page<unknown>, rows: readonly T[]): Page<T> {
  return { number, rows, lease };
}

/**
 * What a page holds, by columns.
 *
 * @throws {StepError} `E_STEP_CONFIG` for rows that are none, as of a function under `mapRows` that returns nothing.
 */
export function batchOf<T extends Row>(page: Page<T>): RecordBatch {
  if (isBatchPage(page)) return page.batch;
  const { number, rows } = page;
  const wrong = rows.findIndex((row: unknown) => !isRecord(row) || Array.isArray(row) || row instanceof Promise);
  if (wrong >= 0)
    throw new StepError('E_STEP_CONFIG', `page ${number}: row ${wrong + 1} must be an object with fields, not ${given(rows[wrong])}`);
  return batchFromRows(rows);
}

/** Whether something is a page, ours or one that a program made. */
export function isPage(value: unknown): value is Page {
  if (value instanceof BatchPage) return true;
  return isRecord(value) && Array.isArray(value.rows) && isRecord(value.lease) && typeof value.lease.release === 'function';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** The same rows under another lease. */
export function withLease<T>(page: Page<T>, lease: Lease): Page<T> {
  return isBatchPage(page) ? pageOf(page.number, page.batch, lease) : { number: page.number, rows: page.rows, lease };
}

/** The rows of a page for one more reader: what others did with the dates of its rows is not in them. */
export function rowsOf<T>(page: Page<T>): readonly T[] {
  // Rows by columns are no others than those of the page, of whatever type.
  return isBatchPage(page) ? (page.batch.rows() as readonly never[]) : page.rows;
}

/**
 * What shows the rows of a page to functions that may change them; `undefined` for rows of a program, whose changes reach whoever reads them
 * next.
 */
export function guardOf<T>(page: Page<T>): RowGuard<T> | undefined {
  if (!isBatchPage(page)) return undefined;
  // Rows by columns are no others than those of the page, of whatever type.
  return rowGuard([...page.batch.columns.keys()]) as RowGuard<never>;
}

/** How many rows a page has. */
export function countOf(page: Page<unknown>): number {
  return isBatchPage(page) ? page.batch.length : page.rows.length;
}
