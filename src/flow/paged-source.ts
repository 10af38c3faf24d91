import { EMPTY, type Observable, concat, concatMap, defer, isObservable } from 'rxjs';
import { SourceError, StepError, type Row } from '../core/index.js';
import { bounds, callable, defaults, faultsIn, flag, given, number, object, text } from '../options/index.js';
import { fetchedRows } from './fetched-rows.js';
import { handOver } from './lease.js';
import { refuseDry, refuseEndless } from './stalled.js';
import { delayErrors } from './delay-errors.js';
import type { RecordBatch } from '../vector/index.js';
import { pageOf, type Lease, type Page } from './page.js';
import { type Content, type ListEnd, type PagedReading, Stretch } from './stretch.js';
import { task } from './task.js';
import { createWindow, type LeaseWindow } from './window.js';

/** Bounds of a paged source; all counts are pages. */
export interface PagedSourceOptions {
  /** What is read, for messages. Default `the list`. */
  readonly name?: string | undefined;
  /** Pages in flight, waiting or in the chain at once. Default 8. */
  readonly window?: number | undefined;
  /** Requests in flight at once, at most `window`. Default 4. */
  readonly concurrency?: number | undefined;
  /** Number of the first page. Default 1. */
  readonly firstPage?: number | undefined;
  /** Whether the list has pages; without, there is one request and no end to look for. Default true. */
  readonly paged?: boolean | undefined;
  /**
   * Looks for evidence where the list seems to end, and gives the number of the page to go on with when it does not. Default: the
   * empty page is asked for again, and so is the next one, or one behind it that had rows; rows there are an error.
   */
  readonly confirmEnd?: ((end: ListEnd) => Observable<number | undefined>) | undefined;
}

/**
 * Reads a list page by page, in page order, with several requests in flight and never more than `window` pages
 * outstanding, however slow the sink is.
 *
 * `concurrency` chains of `expand` each read every n-th page, and their pages are put back in order. An empty page is the claim that
 * the list has ended there; what was asked for ahead is heard before the claim is looked into. A failure is told after every earlier
 * page was released. Unsubscribing unsubscribes the requests in flight.
 *
 * @param fetch Reads one page by number: emits its rows once.
 * @throws {SourceError} `E_SOURCE_ORDER` when rows come after the end; `E_SOURCE_CONFIG`, at once, for options that cannot be right;
 * `E_RUN_STALLED` when pages are not released and nothing is left that could.
 * @throws {StepError} `E_STEP_FUNCTION`, behind the pages before it, when the function gives something other than one list of rows.
 *
 * @example
 * const orders$ = pagedSource((number) => defer(() => fetchOrders(number)), { window: 4, concurrency: 2 });
 * for await (const order of fromPages(orders$)) console.log(order.no);
 */
export function pagedSource<T>(fetch: (page: number) => Observable<readonly T[]>, options: PagedSourceOptions = {}): Observable<Page<T>> {
  if (typeof fetch !== 'function') throw refused(`pagedSource: the first argument must be a function, not ${given(fetch)}`);
  const pageOf = (number: number, rows: readonly T[], lease: Lease) => ({ number, rows, lease });
  return paged(fetchedRows(fetch), pageOf, options).pipe(handOver());
}

/** The same by columns. */
export function pagedBatches<T extends Row>(
  fetch: (page: number) => Observable<RecordBatch>,
  options: PagedSourceOptions,
): Observable<Page<T>> {
  return paged(fetch, pageOf<T>, options);
}

function paged<T, C extends Content>(
  fetch: (page: number) => Observable<C>,
  pageOf: (number: number, content: C, lease: Lease) => Page<T>,
  options: PagedSourceOptions,
): Observable<Page<T>> {
  checkTaken(options);
  const {
    name = 'the list',
    window = 2 * defaults.concurrency,
    concurrency = defaults.concurrency,
    firstPage = defaults.firstPage,
    paged: hasPages = true,
  } = options;
  const { confirmEnd = (end) => lookAgain(fetch, end) } = options;
  const reading = { fetch, pageOf, confirmEnd, hasPages, chains: hasPages ? Math.min(concurrency, window) : 1 };
  return defer(() => stretchesFrom(reading, createWindow(window), firstPage)).pipe(delayErrors(), refuseDry(name));
}

/**
 * The pages from a number on, up to the first that has no rows, and beyond it when that was no end.
 *
 * @param emitted Pages that were emitted before.
 */
function stretchesFrom<T, C extends Content>(
  reading: PagedReading<T, C>,
  window: LeaseWindow,
  start: number,
  emitted: number = 0,
): Observable<Page<T>> {
  return defer(() => {
    const stretch = new Stretch(reading, window, start, emitted);
    const rest$ = defer(() => {
      if (!reading.hasPages || stretch.end === undefined) return EMPTY;
      return confirmed(reading.confirmEnd(stretch.end)).pipe(
        concatMap((next) => (next === undefined ? EMPTY : stretchesFrom(reading, window, next, stretch.emitted))),
      );
    });
    return concat(stretch.pages(), rest$);
  });
}

/** What a program's own look at the end gives, which has to be an observable. */
function confirmed(next: unknown): Observable<number | undefined> {
  if (isObservable(next))
    return (next as Observable<number | undefined>).pipe(refuseEndless(() => 'pagedSource: confirmEnd never ends', 'calls'));
  throw new StepError(
    'E_STEP_FUNCTION',
    `pagedSource: confirmEnd gave ${given(next)}; it gives an observable of a page's number, or of undefined`,
  );
}

/** The end of a list that nothing else is known of. */
function lookAgain(
  fetch: (page: number) => Observable<Content>,
  { page, after: [behind = page + 1] }: ListEnd,
): Observable<number | undefined> {
  return task(async (ask) => {
    if ((await ask(fetch(page))).length > 0) return page;
    if ((await ask(fetch(behind))).length > 0) throw rowsAfterEnd(behind, page);
    return undefined;
  });
}

/** Rows behind a page that stays empty. */
export function rowsAfterEnd(page: number, end: number): SourceError {
  return new SourceError('E_SOURCE_ORDER', 'permanent', `page ${page} has rows, but page ${end} has none`);
}

const taken = object({
  name: text,
  window: number(bounds.window),
  concurrency: number(bounds.concurrency),
  // A read may go on from any page.
  firstPage: number({ whole: true, min: 0 }),
  paged: flag,
  confirmEnd: callable,
});

function checkTaken(options: unknown): void {
  const [problem] = faultsIn(taken, options);
  if (problem !== undefined) throw refused(problem);
}

function refused(problem: string): SourceError {
  return new SourceError('E_SOURCE_CONFIG', 'permanent', problem);
}
