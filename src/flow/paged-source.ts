import { EMPTY, Observable, type Subscriber, catchError, concat, concatMap, defer, expand, from, map, merge, of, single, tap } from 'rxjs';
import { SourceError, StepError, type Row } from '../core/index.js';
import { bounds, callable, defaults, flag, kindOf, number, object, text } from '../options/index.js';
import type { RecordBatch } from '../vector/index.js';
import { handOver, untilReleased } from './lease.js';
import { pageOf, type Lease, type Page } from './page.js';
import { reorder } from './reorder.js';
import { refuseEndless } from './stalled.js';
import { task } from './task.js';

/** The place where a list seems to end. */
export interface ListEnd {
  /** Number of the first page without rows. */
  readonly page: number;
  /** Numbers of later pages that had rows, requested before it was answered. In order. */
  readonly after: readonly number[];
}

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
  const fetched = (page: number) =>
    defer(() => fetch(page)).pipe(
      refuseEndless(() => `pagedSource: the observable of page ${page} never ends`, 'calls'),
      single(),
      tap((rows) => {
        if (!Array.isArray(rows)) throw notRows(rows, page);
      }),
    );
  const made = (number: number, rows: readonly T[], lease: Lease) => ({ number, rows, lease });
  return paged(fetched, made, options).pipe(handOver());
}

/** Creates the failure for anything but a list of rows, which could pass for an empty page, and so for the end of the list. */
function notRows(rows: unknown, page: number): StepError {
  const remedy = 'it must return an observable of one value, the list of its rows, like defer(() => fetchOrders(page))';
  return new StepError(
    'E_STEP_FUNCTION',
    `pagedSource: the function returned an observable of ${kindOf(rows)} for page ${page}; ${remedy}`,
  );
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
  return defer(() => stretchesFrom(reading, new LeaseWindow(window), firstPage)).pipe(untilReleased(name));
}

/** The content of a page, in any form. */
interface Content {
  readonly length: number;
}

/** What a paged read needs. */
interface PagedReading<T, C extends Content> {
  readonly fetch: (page: number) => Observable<C>;
  readonly pageOf: (number: number, content: C, lease: Lease) => Page<T>;
  readonly confirmEnd: (end: ListEnd) => Observable<number | undefined>;
  readonly hasPages: boolean;
  /** Number of request chains, each of which reads every n-th page. */
  readonly chains: number;
}

/** The result of a page number: rows, no rows, or a failure. */
type Slot<C> = { readonly number: number } & ({ readonly content: C } | { readonly failure: unknown });

/** An uninterrupted part of a list: from a page to the first without rows. */
class Stretch<T, C extends Content> {
  /** Pages emitted, including those before this part. */
  emitted: number;
  readonly #withRows: number[] = [];
  #firstEmpty = Infinity;
  #end: number | undefined;

  constructor(
    private readonly reading: PagedReading<T, C>,
    private readonly window: LeaseWindow,
    private readonly start: number,
    private readonly placeOfStart: number,
  ) {
    this.emitted = placeOfStart;
    window.open();
  }

  /** Where it ended; `undefined` before that, and after a failure. */
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

  /** Reads every n-th page from a number on. */
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

  /** Returns the place of a page among all emitted ones. */
  #placeOf(number: number): number {
    return this.placeOfStart + number - this.start;
  }
}

function hasRows<C extends Content>(slot: Slot<C>): slot is { readonly number: number; readonly content: C } {
  return 'content' in slot && slot.content.length > 0;
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
      return reading.confirmEnd(stretch.end).pipe(
        refuseEndless(() => 'pagedSource: confirmEnd never ends', 'calls'),
        concatMap((next) => (next === undefined ? EMPTY : stretchesFrom(reading, window, next, stretch.emitted))),
      );
    });
    return concat(stretch.pages(), rest$);
  });
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
  const [problem] = taken(options, '');
  if (problem !== undefined) throw new SourceError('E_SOURCE_CONFIG', 'permanent', problem);
}

/**
 * Keeps pages inside a sliding window of places, counted from 0 in the order of the list: the page at place `n` may be fetched once every
 * page up to `n - size` was released. Granting by place, not by order of request, prevents the next page in order from starving while later
 * ones hold every place.
 */
class LeaseWindow {
  /** Lowest place not yet released. */
  #base = 0;
  #last = Infinity;
  readonly #released = new Set<number>();
  readonly #waiting = new Map<number, (granted: boolean) => void>();

  /** @param size Pages that may be in flight, waiting or in a chain at a time. */
  constructor(private readonly size: number) {}

  /** Resolves with true when the page at a place may be fetched, and with false if the window was sealed below it. */
  enter(place: number): Promise<boolean> {
    return new Promise((grant) => {
      this.#waiting.set(place, grant);
      this.#admit();
    });
  }

  /** Returns the lease of an emitted page. */
  lease(place: number): Lease {
    return { release: () => this.#release(place) };
  }

  /** Grants no place above `last` until the window is opened again. */
  seal(last: number): void {
    this.#last = Math.min(this.#last, last);
    this.#admit();
  }

  open(): void {
    this.#last = Infinity;
  }

  #admit(): void {
    for (const [place, grant] of this.#waiting) {
      if (place >= this.#base + this.size && place <= this.#last) continue;
      this.#waiting.delete(place);
      grant(place <= this.#last);
    }
  }

  #release(place: number): void {
    if (place < this.#base) return;
    this.#released.add(place);
    while (this.#released.delete(this.#base)) this.#base += 1;
    this.#admit();
  }
}
