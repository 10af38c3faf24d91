import { Observable, catchError, defer, map, mergeMap, of, single, type ObservableInput } from 'rxjs';
import { inOrder } from './in-order.js';
import { withRows, type Page, type Step } from './page.js';

/** A page, or the failure that stands in its place until its turn comes. */
type Outcome<T> = { readonly page: Page<T> } | { readonly failure: unknown };

/**
 * Applies an asynchronous function to pages: at most `concurrency` at a time, results in page order. Pages that wait for
 * their turn hold their leases, so the window of the source bounds them. Unsubscribing aborts what is under way. An error
 * waits behind the pages that came before it.
 *
 * @param project Gives the new rows of a page, once; `signal` is aborted on unsubscribe.
 * @param concurrency Pages worked on at once, at least 1.
 */
export function mapAsync<T, U>(
  project: (page: Page<T>, signal: AbortSignal) => ObservableInput<readonly U[]>,
  concurrency: number,
): Step<T, U> {
  function projected(item: Outcome<T>): Observable<Outcome<U>> {
    if ('failure' in item) return of(item);
    return withSignal((signal) => project(item.page, signal)).pipe(
      single(),
      map((rows) => ({ page: withRows(item.page, rows) })),
      catchError(failed),
    );
  }

  return (pages$) =>
    pages$.pipe(
      map((page): Outcome<T> => ({ page })),
      catchError(failed),
      map((item, number) => ({ item, number })),
      mergeMap(({ item, number }) => projected(item).pipe(map((outcome) => ({ number, outcome }))), concurrency),
      inOrder(0),
      map(({ outcome }) => {
        if ('page' in outcome) return outcome.page;
        throw outcome.failure;
      }),
    );
}

function failed(failure: unknown): Observable<{ readonly failure: unknown }> {
  return of({ failure });
}

function withSignal<T>(project: (signal: AbortSignal) => ObservableInput<T>): Observable<T> {
  return new Observable((subscriber) => {
    const abort = new AbortController();
    subscriber.add(() => abort.abort());
    subscriber.add(defer(() => project(abort.signal)).subscribe(subscriber));
  });
}
