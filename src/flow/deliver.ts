import { Observable, defer, endWith, ignoreElements, tap, type ObservableInput } from 'rxjs';
import { inOrder } from './in-order.js';
import { keep } from './lease.js';
import { failWhenDry, refuseEndless, stalled } from './stalled.js';
import type { Page } from './page.js';

/**
 * Passes every page to a writer, one at a time and in order, and releases it when the writer completes. Emits each page number after its
 * release. An error of the stream waits for the pages before it; an error of the writer ends the stream. So does a writer that never
 * completes, or a stream that never ends, once the process has nothing left to do.
 *
 * @throws {TypeError} By the stream, from RxJS, if the writer returns nothing to wait for.
 * @throws {LeadstreamError} `E_RUN_STALLED`, by the stream, for a writer or stream that never ends.
 *
 * @example
 * await lastValueFrom(service.leads.pages$.pipe(deliver((page) => storeAll(page.rows))), { defaultValue: 0 });
 * // the next page is asked for when there is room for it: at most `window` pages are in memory
 */
export function deliver<T>(write: (page: Page<T>) => ObservableInput<unknown>) {
  return (pages$: Observable<Page<T>>): Observable<number> =>
    new Observable((subscriber) => {
      let writing: number | undefined;
      failWhenDry(subscriber, 'calls', () =>
        writing === undefined ? undefined : stalled(`page ${writing} was passed to a writer that never completes`),
      );
      const written = (page: Page<T>) =>
        defer(() => {
          writing = page.number;
          return write(page);
        }).pipe(tap({ complete: () => page.lease.release() }), ignoreElements(), endWith(page.number));
      subscriber.add(
        pages$
          .pipe(
            tap<Page<T>>(keep),
            inOrder(written),
            tap(() => (writing = undefined)),
            refuseEndless(() => 'deliver: the stream of pages never ends'),
          )
          .subscribe(subscriber),
      );
    });
}
