import { defer, Observable, type MonoTypeOperatorFunction, type OperatorFunction, type Subscriber } from 'rxjs';
import { isObject, type Row, StepError } from '../core/index.js';
import { kindOf } from '../options/index.js';
import { batchFromRows, type RecordBatch } from '../vector/index.js';

/**
 * The right of a page to be in memory; a source hands out at most `window`. The consumer releases it when the rows are stored. Releasing
 * twice has no effect, and a page that no operator of leadstream takes is released once delivered.
 */
export interface Lease {
  release(): void;
}

/** The unit of a chain: some rows of one page of the service, in order. `number` is 1-based. */
export interface Page<T = Row> {
  readonly number: number;
  /**
   * In a page created by leadstream, the rows are created on first access, and frozen: to change rows, create new ones, as with
   * `mapRows((row) => ({ ...row, zipcode: '' }))`. Changing a date affects others that share this very page, but no step and no sink.
   */
  readonly rows: readonly T[];
  readonly lease: Lease;
}

/** A step of a chain: pages in, pages out, one for one, in order, with their leases. It may end before its input does. */
export type Step<In = Row, Out = Row> = OperatorFunction<Page<In>, Page<Out>>;

/** An operator that leaves items to a function; errors and the end pass. */
export function handling<In, Out>(next: (item: In, subscriber: Subscriber<Out>) => void): OperatorFunction<In, Out> {
  return (source$) =>
    new Observable((subscriber) =>
      source$.subscribe({
        next: (item) => next(item, subscriber),
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      }),
    );
}

/** Puts items into the order of their numbers, and buffers early ones, which the window bounds. */
export function reorder<T extends { readonly number: number }>(first: number): MonoTypeOperatorFunction<T> {
  return (source$) =>
    defer(() => {
      const early = new Map<number, T>();
      let next = first;
      const inOrder = handling<T, T>((item, subscriber) => {
        early.set(item.number, item);
        for (let ready = early.get(next); ready !== undefined && !subscriber.closed; ready = early.get(next)) {
          early.delete(next);
          next += 1;
          subscriber.next(ready);
        }
      });
      return source$.pipe(inOrder);
    });
}

/** A columnar page. A copy by `...` is a page of rows, so that these may be replaced: a batch never represents rows other than its own. */
class BatchPage<T> implements Page<T> {
  declare readonly rows: readonly T[];
  readonly #batch: RecordBatch;
  #rows: readonly Row[] | undefined;
  /** One getter for all pages: with one of its own, each page would have a shape of its own, which costs five times as much. */
  static readonly #ofRows = {
    enumerable: true,
    get(this: BatchPage<unknown>): readonly Row[] {
      return (this.#rows ??= this.#batch.rows());
    },
  };

  constructor(
    readonly number: number,
    batch: RecordBatch,
    readonly lease: Lease,
  ) {
    this.#batch = batch;
    Object.defineProperty(this, 'rows', BatchPage.#ofRows);
  }

  get batch(): RecordBatch {
    return this.#batch;
  }
}

export function isBatchPage<T>(page: Page<T>): page is Page<T> & { readonly batch: RecordBatch } {
  return page instanceof BatchPage;
}

export function pageOf<T = Row>(number: number, batch: RecordBatch, lease: Lease): Page<T> {
  return new BatchPage(number, batch, lease);
}

export function withBatch<T = Row>(page: Page<unknown>, batch: RecordBatch): Page<T> {
  return pageOf(page.number, batch, page.lease);
}

export function withRows<T>({ number, lease }: Page<unknown>, rows: readonly T[]): Page<T> {
  return { number, rows, lease };
}

/** @throws {StepError} `E_STEP_CONFIG` for invalid rows, such as those of a `mapRows` function that returns nothing. */
export function batchOf<T extends Row>(page: Page<T>): RecordBatch {
  if (isBatchPage(page)) return page.batch;
  const { number, rows } = page;
  const wrong = rows.findIndex((row: unknown) => !isObject(row) || Array.isArray(row) || row instanceof Promise);
  if (wrong >= 0)
    throw new StepError('E_STEP_CONFIG', `page ${number}: row ${wrong + 1} must be an object with fields, not ${kindOf(rows[wrong])}`);
  return batchFromRows(rows);
}

export function isPage(value: unknown): value is Page {
  if (value instanceof BatchPage) return true;
  return isObject(value) && Array.isArray(value.rows) && isObject(value.lease) && typeof value.lease.release === 'function';
}

export function withLease<T>(page: Page<T>, lease: Lease): Page<T> {
  return isBatchPage(page) ? pageOf(page.number, page.batch, lease) : { number: page.number, rows: page.rows, lease };
}

/** Returns a page's rows for another reader, unaffected by what others did to their dates. */
export function rowsOf<T>(page: Page<T>): readonly T[] {
  // The rows of the batch are those of the page, whatever their type.
  return isBatchPage(page) ? (page.batch.rows() as readonly never[]) : page.rows;
}

export function countOf(page: Page<unknown>): number {
  return isBatchPage(page) ? page.batch.length : page.rows.length;
}
