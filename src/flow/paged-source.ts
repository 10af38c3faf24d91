import { EMPTY, catchError, concat, concatMap, defer, expand, from, map, merge, of, single, tap } from 'rxjs';
import type { Observable, Subscriber } from 'rxjs';
import type { Row } from '../core/index.js';
import { defaults } from '../options/index.js';
import type { RecordBatch } from '../vector/index.js';
import { untilReleased } from './lease.js';
import { handling, pageOf, reorder, type Lease, type Page } from './page.js';

export interface ListEnd {
  readonly page: number;
  /** Numbers of later pages that had rows, requested before it was answered. In order. */
  readonly after: readonly number[];
}

interface PagedOptions {
  /** What is being read, for messages. */
  readonly name: string;
  /** Pages in flight, waiting or in the chain at a time. */
  readonly window: number;
  /** Requests in flight at a time, at most `window`. Default 4. */
  readonly concurrency?: number | undefined;
  readonly firstPage: number;
  /** Checks whether the list has really ended, and emits the number of the page to continue with if it has not. */
  readonly confirmEnd: (end: ListEnd) => Observable<number | undefined>;
}

/**
 * Reads a list in page order, with several requests in flight and never more than `window` pages outstanding: each of `concurrency` chains
 * of `expand` reads every n-th page. An empty page suggests that the list has ended there; this is checked after the requests already sent
 * have been answered. A failure is reported after every earlier page was released. Unsubscribing unsubscribes the requests in flight.
 */
export function pagedBatches<T extends Row>(
  fetch: (page: number) => Observable<RecordBatch>,
  { name, window, concurrency = defaults.concurrency, firstPage, confirmEnd }: PagedOptions,
): Observable<Page<T>> {
  return defer(() => {
    const leases = new LeaseWindow(window);
    const pagesFrom = (start: number): Observable<Page<T>> =>
      defer(() => {
        const stretch = new Stretch<T>(fetch, leases, start);
        const rest$ = defer(() => confirmEnd(stretch.end)).pipe(concatMap((next) => (next === undefined ? EMPTY : pagesFrom(next))));
        return concat(stretch.pages(Math.min(concurrency, window)), rest$);
      });
    return pagesFrom(firstPage);
  }).pipe(untilReleased(name));
}

/** The result of a page number: rows, no rows, or a failure. */
type Slot = { readonly number: number } & ({ readonly batch: RecordBatch } | { readonly failure: unknown });

/** An uninterrupted part of a list: from a page to the first without rows. */
class Stretch<T extends Row> {
  readonly #withRows: number[] = [];
  #firstEmpty = Infinity;
  /** Where its first page is among all emitted ones. */
  readonly #place: number;

  constructor(
    private readonly fetch: (page: number) => Observable<RecordBatch>,
    private readonly leases: LeaseWindow,
    private readonly start: number,
  ) {
    this.#place = leases.open();
  }

  /** Where it ended, once its pages have. */
  get end(): ListEnd {
    const page = this.#firstEmpty;
    return { page, after: this.#withRows.filter((n) => n > page).sort((a, b) => a - b) };
  }

  /** @param chains Number of request chains, each of which reads every n-th page. */
  pages(chains: number): Observable<Page<T>> {
    const slots = Array.from({ length: chains }, (_, chain) =>
      this.#slot(this.start + chain).pipe(
        expand((slot) => (hasRows(slot) && slot.number <= this.#firstEmpty ? this.#slot(slot.number + chains) : EMPTY)),
      ),
    );
    return merge(...slots).pipe(
      reorder(this.start),
      handling<Slot, Page<T>>((slot, subscriber) => this.#take(slot, subscriber)),
    );
  }

  #slot(number: number): Observable<Slot> {
    return from(this.leases.enter(this.#placeOf(number))).pipe(
      concatMap((granted) => (granted ? this.fetch(number).pipe(single()) : EMPTY)),
      map((batch): Slot => ({ number, batch })),
      tap((slot) => {
        if (hasRows(slot)) this.#withRows.push(number);
        else this.#firstEmpty = Math.min(this.#firstEmpty, number);
      }),
      catchError((failure: unknown) => of<Slot>({ number, failure })),
    );
  }

  #take(slot: Slot, subscriber: Subscriber<Page<T>>): void {
    const { number } = slot;
    if (number > this.#firstEmpty) return;
    const place = this.#placeOf(number);
    if (hasRows(slot)) subscriber.next(pageOf(number, slot.batch, this.leases.lease(place)));
    else {
      this.leases.seal(place);
      if ('failure' in slot) subscriber.error(slot.failure);
    }
  }

  #placeOf(number: number): number {
    return this.#place + number - this.start;
  }
}

function hasRows(slot: Slot): slot is { readonly number: number; readonly batch: RecordBatch } {
  return 'batch' in slot && slot.batch.length > 0;
}

/**
 * Keeps pages inside a sliding window of places, counted from 0 in list order: the page at place `n` may be fetched when every page up to
 * `n - size` was released. By order of request, later pages could hold every place while the next in order starves.
 */
class LeaseWindow {
  /** Lowest place not yet released. */
  #base = 0;
  #last = Infinity;
  #leased = 0;
  readonly #released = new Set<number>();
  readonly #waiting = new Map<number, (granted: boolean) => void>();

  /** @param size Pages that may be in flight, waiting or in a chain at a time. */
  constructor(private readonly size: number) {}

  /** Grants places again. @returns The place of the next page. */
  open(): number {
    this.#last = Infinity;
    return this.#leased;
  }

  /** Grants no place above `last` until the window is opened again. */
  seal(last: number): void {
    this.#last = last;
    this.#admit();
  }

  /** Resolves with true when the page at a place may be fetched, and with false if the window was sealed below it. */
  enter(place: number): Promise<boolean> {
    return new Promise((grant) => {
      this.#waiting.set(place, grant);
      this.#admit();
    });
  }

  lease(place: number): Lease {
    this.#leased += 1;
    return { release: () => this.#release(place) };
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
