import { Observable } from 'rxjs';
import { whenDry } from './stalled.js';
import { withRelease } from './lease.js';
import type { Page } from './page.js';

/**
 * Passes an error on only after every page emitted before it was released, or can no longer be.
 *
 * In RxJS errors overtake data: when one arrives, a queueing operator downstream drops its buffered pages and abandons the write in
 * progress. Completion does not overtake.
 */
export function delayErrors<T>() {
  return (source$: Observable<Page<T>>): Observable<Page<T>> =>
    new Observable((subscriber) => {
      let outstanding = 0;
      let failure: { readonly error: unknown } | undefined;

      function settle(): void {
        if (failure && outstanding === 0) subscriber.error(failure.error);
      }

      function tracked(page: Page<T>): Page<T> {
        let held = true;
        return withRelease(page, () => {
          if (!held) return;
          held = false;
          outstanding -= 1;
          page.lease.release();
          settle();
        });
      }

      return source$.subscribe({
        next: (page) => {
          outstanding += 1;
          subscriber.next(tracked(page));
        },
        error: (error: unknown) => {
          failure = { error };
          settle();
          // A page that can no longer be released must not hold the error back.
          const told = () => {
            subscriber.error(error);
            return true;
          };
          if (outstanding > 0) subscriber.add(whenDry('failures', told));
        },
        complete: () => subscriber.complete(),
      });
    });
}
