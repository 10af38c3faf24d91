import { EMPTY, catchError, concat, concatMap, defer, expand, filter, from, map, merge, of, tap, throwIfEmpty } from 'rxjs';
import type { Observable, Subscriber } from 'rxjs';
import type { Row } from '../core/index.js';
import type { RecordBatch } from '../vector/index.js';
import { untilReleased } from './lease.js';
import { handling, pageOf, reorder, type Lease, type Page } from './page.js';

export interface ListEnd {
  readonly page: number;
  /** Numbers of later pages that had rows, requested before it was answered. In order. */
  readonly after: readonly number[];
}

/** A list of numbered pages. */
export interface PagedList {
  readonly firstPage: number;
  /** Turns in flight at a time, at most the window; what is left of a slow one is asked for at once, and `page` lets it wait. */
  readonly concurrency: number;
  /** Returns how many pages a chain may read in one turn by now; the window is then as many times larger. Default 1. */
  readonly together?: () => number;
  /** Emits a page, without rows after the last, and then perhaps those after it, at most `count` in all. Default 1. */
  page(number: number, count?: number): Observable<RecordBatch>;
  /** Checks whether the list has really ended, and emits the number of the page to continue with if it has not. */
  confirm(end: ListEnd): Observable<number | undefined>;
}

/**
 * Reads a list in page order, with several requests in flight and never more than `window` pages outstanding: each of `concurrency` chains
 * of `expand` reads the next page, or the next few. An empty page suggests that the list has ended there; this is checked after the requests
 * already sent have been answered. A failure is reported after every earlier page was released. Unsubscribing unsubscribes the requests in flight.
 *
 * @param name What is being read, for messages.
 * @param window Pages in flight, waiting or in the chain at a time.
 */
export function pagedBatches<T extends Row>(
  name: string,
  list: PagedList,
  window: number,
  firstPage: number = list.firstPage,
): Observable<Page<T>> {
  return defer(() => {
    const leases = new LeaseWindow(() => window * togetherIn(list));
    const pagesFrom = (start: number): Observable<Page<T>> =>
      defer(() => {
        const stretch = new Stretch<T>(list, leases, start);
        const rest$ = defer(() => list.confirm(stretch.end)).pipe(concatMap((next) => (next === undefined ? EMPTY : pagesFrom(next))));
        return concat(stretch.pages(Math.min(list.concurrency, window)), rest$);
      });
    return pagesFrom(firstPage);
  }).pipe(untilReleased(name));
}

function togetherIn(list: PagedList): number {
  return list.together?.() ?? 1;
}

/** The pages that a chain is to read, from one to before another, and whether it then takes its next turn. */
type Turn = { readonly from: number; readonly to: number; readonly isLast: boolean };

/** The result of a page number: rows, no rows, or a failure. */
type Slot = { readonly number: number } & ({ readonly batch: RecordBatch } | { readonly failure: unknown });

/** An uninterrupted part of a list: from a page to the first without rows. */
class Stretch<T extends Row> {
  readonly #withRows: number[] = [];
  #firstEmpty = Infinity;
  /** Where its first page is among all emitted ones. */
  readonly #place: number;
  /** The first page that no chain is to read yet. */
  #next: number;

  constructor(
    private readonly list: PagedList,
    private readonly leases: LeaseWindow,
    private readonly start: number,
  ) {
    this.#place = leases.open();
    this.#next = start;
  }

  /** Where it ended, once its pages have. */
  get end(): ListEnd {
    const page = this.#firstEmpty;
    return { page, after: this.#withRows.filter((n) => n > page).sort((a, b) => a - b) };
  }

  pages(chains: number): Observable<Page<T>> {
    const items = Array.from({ length: chains }, () =>
      this.#read(this.#turn(1)).pipe(expand((item) => ('to' in item && item.from <= this.#firstEmpty ? this.#read(item) : EMPTY))),
    );
    return merge(...items).pipe(
      filter((item): item is Slot => !('to' in item)),
      reorder(this.start),
      handling<Slot, Page<T>>((slot, subscriber) => this.#take(slot, subscriber)),
    );
  }

  #turn(count = togetherIn(this.list)): Turn {
    const from = this.#next;
    this.#next += count;
    return { from, to: this.#next, isLast: true };
  }

  /** Reads pages as far as they come together, and then emits where to go on: what is left of a turn that was slow is read side by side. */
  #read({ from: first, to, isLast }: Turn): Observable<Slot | Turn> {
    let next = first;
    let goesOn = false;
    const slots$ = from(this.leases.enter(this.#placeOf(first), this.#placeOf(to - 1))).pipe(
      concatMap((granted) => (granted ? this.list.page(first, to - first).pipe(throwIfEmpty()) : EMPTY)),
      map((batch): Slot => {
        if (next === to) throw new Error(`page ${to - 1} was answered twice`);
        return { number: next, batch };
      }),
      catchError((failure: unknown) => of<Slot>({ number: next, failure })),
      tap((slot) => {
        goesOn = hasRows(slot) && next <= this.#firstEmpty && (isLast || next + 1 < to);
        if (hasRows(slot)) this.#withRows.push(next);
        else this.#firstEmpty = Math.min(this.#firstEmpty, next);
        next += 1;
      }),
    );
    const rest = (): readonly Turn[] => {
      if (next === to) return [this.#turn()];
      const size = togetherIn(this.list) === 1 ? 1 : to - next;
      const starts = Array.from({ length: (to - next) / size }, (_, index) => next + index * size);
      return starts.map((from) => ({ from, to: from + size, isLast: isLast && from + size === to }));
    };
    return concat(
      slots$,
      defer(() => (goesOn ? rest() : [])),
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
  readonly #waiting = new Map<number, { readonly to: number; readonly grant: (granted: boolean) => void }>();

  /** @param size Returns the number of pages that may be in flight, waiting or in a chain by now. */
  constructor(private readonly size: () => number) {}

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

  /** Resolves with true when the pages from a place to another may be fetched, and with false if the window was sealed below them. */
  enter(place: number, to: number): Promise<boolean> {
    return new Promise((grant) => {
      this.#waiting.set(place, { to, grant });
      this.#admit();
    });
  }

  lease(place: number): Lease {
    this.#leased += 1;
    return { release: () => this.#release(place) };
  }

  #admit(): void {
    const size = this.size();
    for (const [place, { to, grant }] of this.#waiting) {
      // Even a turn that has become larger than the window is granted when everything before it was released.
      if (Math.min(to, place + size - 1) >= this.#base + size && place <= this.#last) continue;
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
