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

/** Limits of a paged source; all counts are in pages. */
export interface PagedSourceOptions {
  /** What is being read, for messages. Default `the list`. */
  readonly name?: string | undefined;
  /** Pages in flight, waiting or in the chain at a time. Default 8. */
  readonly window?: number | undefined;
  /** Requests in flight at a time, at most `window`. Default 4. */
  readonly concurrency?: number | undefined;
  /** Number of the first page. Default 1. */
  readonly firstPage?: number | undefined;
  /** Whether the list has pages; otherwise there is one request and no end to confirm. Default true. */
  readonly paged?: boolean | undefined;
  /**
   * Checks whether the list has really ended, and emits the number of the page to continue with if it has not. Default: the empty page is
   * requested again, and so is a later one (one that had rows, or else the next); rows there are an error.
   */
  readonly confirmEnd?: ((end: ListEnd) => Observable<number | undefined>) | undefined;
}

/**
 * Reads a list page by page, in page order, with several requests in flight and never more than `window` pages outstanding, however slow the sink is.
 *
 * Each of `concurrency` chains of `expand` reads every n-th page, and their pages are put back in order. An empty page suggests that the
 * list has ended there; this is checked after the requests already sent have been answered. A failure is reported after every earlier page
 * was released. Unsubscribing unsubscribes the requests in flight.
 *
 * @param fetch Reads one page by number: emits its rows once.
 * @throws {SourceError} `E_SOURCE_ORDER` if rows come after the end; `E_SOURCE_CONFIG`, synchronously, for invalid options; `E_RUN_STALLED`
 * if pages are not released and nothing is left that could.
 * @throws {StepError} `E_STEP_FUNCTION`, after the pages before it, if the function emits something other than one list of rows.
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

/** Reads a list page by page, as batches. */
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
 * Reads the pages from a number on, up to the first without rows, and beyond it if that was not the end.
 *
 * @param emitted Pages emitted before.
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

/** Checks that a program's `confirmEnd` returned an observable. */
function confirmed(next: unknown): Observable<number | undefined> {
  if (isObservable(next))
    return (next as Observable<number | undefined>).pipe(refuseEndless(() => 'pagedSource: confirmEnd never ends', 'calls'));
  throw new StepError(
    'E_STEP_FUNCTION',
    `pagedSource: confirmEnd returned ${given(next)}; it must return an observable of a page number, or of undefined`,
  );
}

/** Checks the end of a list about which nothing else is known. */
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

/** Creates the failure for rows after a page that stays empty. */
export function rowsAfterEnd(page: number, end: number): SourceError {
  return new SourceError('E_SOURCE_ORDER', 'permanent', `page ${page} has rows, but page ${end} has none`);
}

const taken = object({
  name: text,
  window: number(bounds.window),
  concurrency: number(bounds.concurrency),
  // A read may continue from any page.
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
