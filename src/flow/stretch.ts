import { EMPTY, Observable, type Subscriber, catchError, concatMap, expand, from, map, merge, of, single, tap } from 'rxjs';
import type { Lease, Page } from './page.js';
import { reorder } from './reorder.js';
import type { LeaseWindow } from './window.js';

/** The place where a list seems to end. */
export interface ListEnd {
  /** Number of the first page without rows. */
  readonly page: number;
  /** Numbers of later pages that had rows, requested before it was answered. In order. */
  readonly after: readonly number[];
}

/** The content of a page, in any form. */
export interface Content {
  readonly length: number;
}

/** What a paged read needs. */
export interface PagedReading<T, C extends Content> {
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
export class Stretch<T, C extends Content> {
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
