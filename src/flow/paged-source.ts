import {
  EMPTY,
  Observable,
  type Subscriber,
  catchError,
  concat,
  concatMap,
  defer,
  expand,
  from,
  isObservable,
  map,
  merge,
  of,
  single,
  tap,
} from 'rxjs';
import { SourceError, StepError, type Row } from '../core/index.js';
import { bounds, callable, defaults, faultsIn, flag, given, number, object, text } from '../options/index.js';
import { fetchedRows } from './fetched-rows.js';
import { handOver } from './lease.js';
import { refuseDry } from './stalled.js';
import { delayErrors } from './delay-errors.js';
import { reorder } from './reorder.js';
import type { RecordBatch } from '../vector/index.js';
import { pageOf, type Lease, type Page } from './page.js';
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

/** Where a list seems to end. */
export interface ListEnd {
  /** Number of the first page without rows. */
  readonly page: number;
  /** Pages after it that had rows; they had been asked for before it answered. In order. */
  readonly after: readonly number[];
}

/** What became of one page number: rows, no rows, or a failure. */
type Slot<C> = { readonly number: number } & ({ readonly content: C } | { readonly failure: unknown });

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

/** What a page holds: rows, in whatever form. */
interface Content {
  readonly length: number;
}

/** What a read of pages needs to know. */
interface Reading<T, C extends Content> {
  readonly fetch: (page: number) => Observable<C>;
  readonly pageOf: (number: number, content: C, lease: Lease) => Page<T>;
  readonly confirmEnd: (end: ListEnd) => Observable<number | undefined>;
  readonly hasPages: boolean;
  /** Chains of requests, each of which reads every n-th page. */
  readonly chains: number;
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
  reading: Reading<T, C>,
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
  if (isObservable(next)) return next as Observable<number | undefined>;
  throw new StepError(
    'E_STEP_FUNCTION',
    `pagedSource: confirmEnd gave ${given(next)}; it gives an observable of a page's number, or of undefined`,
  );
}

/** A part of a list that is read without a break: from a page on, up to the first that has no rows. */
class Stretch<T, C extends Content> {
  /** Pages that were emitted, those before this part included. */
  emitted: number;
  readonly #withRows: number[] = [];
  #firstEmpty = Infinity;
  #end: number | undefined;

  constructor(
    private readonly reading: Reading<T, C>,
    private readonly window: LeaseWindow,
    private readonly start: number,
    private readonly placeOfStart: number,
  ) {
    this.emitted = placeOfStart;
    window.open();
  }

  /** Where it ended; `undefined` while it has not, and when it failed. */
  get end(): ListEnd | undefined {
    const page = this.#end;
    return page === undefined ? undefined : { page, after: this.#withRows.filter((n) => n > page).sort((a, b) => a - b) };
  }

  pages(): Observable<Page<T>> {
    return new Observable((subscriber) => {
      const chains = Array.from({ length: this.reading.chains }, (_, chain) => this.#chain(this.start + chain));
      return merge(...chains)
        .pipe(reorder(this.start))
        .subscribe({
          next: (slot) => this.#take(slot, subscriber),
          error: (error: unknown) => subscriber.error(error),
          complete: () => subscriber.complete(),
        });
    });
  }

  /** What became of every n-th page, from one on. */
  #chain(first: number): Observable<Slot<C>> {
    const { hasPages, chains } = this.reading;
    return this.#slot(first).pipe(
      expand((slot) => (hasPages && hasRows(slot) && slot.number <= this.#firstEmpty ? this.#slot(slot.number + chains) : EMPTY)),
    );
  }

  #slot(n: number): Observable<Slot<C>> {
    return from(this.window.enter(this.#placeOf(n))).pipe(
      concatMap((granted) => (granted ? this.reading.fetch(n).pipe(single()) : EMPTY)),
      map((content): Slot<C> => ({ number: n, content })),
      tap((slot) => {
        if (hasRows(slot)) this.#withRows.push(n);
        else this.#firstEmpty = Math.min(this.#firstEmpty, n);
      }),
      catchError((error: unknown) => of<Slot<C>>({ number: n, failure: error })),
    );
  }

  #take(slot: Slot<C>, subscriber: Subscriber<Page<T>>): void {
    if (this.#end !== undefined) return;
    const { number } = slot;
    const place = this.#placeOf(number);
    if (hasRows(slot)) {
      this.emitted += 1;
      subscriber.next(this.reading.pageOf(number, slot.content, this.window.lease(place)));
      return;
    }
    this.window.seal(place);
    if ('failure' in slot) subscriber.error(slot.failure);
    else this.#end = number;
  }

  /** The place of a page among all that are emitted. */
  #placeOf(number: number): number {
    return this.placeOfStart + number - this.start;
  }
}

function hasRows<C extends Content>(slot: Slot<C>): slot is { readonly number: number; readonly content: C } {
  return 'content' in slot && slot.content.length > 0;
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
