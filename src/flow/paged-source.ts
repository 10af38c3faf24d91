import { EMPTY, Observable, catchError, concatMap, defer, expand, from, map, merge, of, single } from 'rxjs';
import { SourceError } from '../errors.js';
import { holdErrors } from './hold-errors.js';
import { inOrder } from './in-order.js';
import type { Content } from '../columnar/index.js';
import { pageOf, type Page } from './page.js';
import { createWindow } from './window.js';

/** Bounds of a paged source; all counts are pages. */
export interface PagedSourceOptions {
  /** Pages in flight, waiting or in the chain at once. Default 8. */
  readonly window?: number;
  /** Requests in flight at once, at most `window`. Default 4. */
  readonly concurrency?: number;
  /** Number of the first page. Default 1. */
  readonly firstPage?: number;
  /** Whether the list has pages; without, there is one request and no end to look for. Default true. */
  readonly paged?: boolean;
}

/** What became of one page number: rows, the end of the list (no rows), or a failure. */
interface Slot<T> {
  readonly number: number;
  readonly rows: Content<T>;
  readonly failure?: { readonly error: unknown };
}

/**
 * Reads a list page by page, in page order, with several requests in flight and never more than `window` pages
 * outstanding, however slow the sink is.
 *
 * `concurrency` chains of `expand` each read every n-th page, and their pages are put back in order. The list ends at an
 * empty page that is empty a second time and whose successor is empty too. A failure is told after every earlier page was
 * released. Unsubscribing unsubscribes the requests in flight.
 *
 * @param fetch Reads one page by number: emits its rows once.
 * @throws {SourceError} `E_SOURCE_ORDER` when rows come after the end; `E_SOURCE_REFUSED`, at once, for bounds that are no
 * whole numbers from 1 on.
 */
export function pagedSource<T>(fetch: (page: number) => Observable<Content<T>>, options: PagedSourceOptions = {}): Observable<Page<T>> {
  const { window: size = 8, concurrency = 4, firstPage = 1, paged = true } = options;
  checkBound('window', size);
  checkBound('concurrency', concurrency);
  const chains = paged ? Math.min(concurrency, size) : 1;

  return defer(() => {
    const window = createWindow(size, firstPage);

    const read = (n: number): Observable<Content<T>> => fetch(n).pipe(single());

    const rowsOf = (n: number): Observable<Content<T>> =>
      paged ? read(n).pipe(concatMap((rows) => (rows.length > 0 ? of(rows) : read(n)))) : read(n);

    const slot$ = (n: number): Observable<Slot<T>> =>
      from(window.enter(n)).pipe(
        concatMap(() => rowsOf(n)),
        map((rows): Slot<T> => ({ number: n, rows })),
        catchError((error: unknown) => of<Slot<T>>({ number: n, rows: [], failure: { error } })),
      );

    const chain$ = (start: number): Observable<Slot<T>> => {
      let ended = false;
      return slot$(start).pipe(
        expand((slot) => {
          if (!paged || slot.failure || ended) return EMPTY;
          if (slot.rows.length > 0) return slot$(slot.number + chains);
          // A single chain asks for the page after the end itself; several have asked for it already.
          ended = true;
          return chains === 1 ? slot$(slot.number + 1) : EMPTY;
        }),
      );
    };

    const starts = Array.from({ length: chains }, (_, chain) => firstPage + chain);
    return merge(...starts.map(chain$)).pipe(inOrder(firstPage), untilEnd(window, paged), holdErrors());
  });
}

function checkBound(name: string, pages: number): void {
  if (Number.isInteger(pages) && pages >= 1) return;
  throw new SourceError('E_SOURCE_REFUSED', 'permanent', `${name} must be a whole number from 1 on`);
}

/** Turns slots in order into pages, up to the confirmed end. */
function untilEnd<T>(window: ReturnType<typeof createWindow>, paged: boolean) {
  return (slots$: Observable<Slot<T>>): Observable<Page<T>> =>
    new Observable((subscriber) => {
      let end: number | undefined;
      return slots$.subscribe({
        next: ({ number, rows, failure }) => {
          const lease = window.lease(number);
          if (failure) {
            window.seal(number);
            subscriber.error(failure.error);
          } else if (rows.length > 0 && end !== undefined) {
            subscriber.error(new SourceError('E_SOURCE_ORDER', 'permanent', `page ${number} has rows, but page ${end} was empty twice`));
          } else if (rows.length > 0) {
            subscriber.next(pageOf(number, rows, lease));
            if (!paged) subscriber.complete();
          } else if (end !== undefined || !paged) {
            subscriber.complete();
          } else {
            end = number;
            window.seal(number + 1);
            lease.release();
          }
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      });
    });
}
