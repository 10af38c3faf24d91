import { Observable } from 'rxjs';
import { whenDry } from './stalled.js';
import { withRelease } from './lease.js';
import type { Page } from './page.js';

/**
 * Lets an error pass only when every page that was emitted before it has been released, or never will be.
 *
 * RxJS lets errors overtake data: a queueing operator downstream drops the pages in its buffer and abandons the write in
 * progress as soon as an error arrives. Completion does not overtake.
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
          // A page that nothing can release any more must not keep the reason back.
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
