import { concatMap, connect, defer, delayWhen, ignoreElements, merge, reduce, shareReplay, takeUntil, tap, type Observable } from 'rxjs';
import { handOver, keep } from './lease.js';
import type { Page, Step } from './page.js';
import { refuseEndless } from './stalled.js';

/** Reads another stream to the end, into memory, while the first pages of the main one wait, bounded by its window. Then runs a step. */
export function preload<Other, Kept, In, Out>(
  at: string,
  other$: Observable<Page<Other>>,
  collect: () => Kept,
  add: (kept: Kept, page: Page<Other>) => void,
  step: (kept: Kept) => Step<In, Out>,
): Step<In, Out> {
  return (main$) =>
    defer(() => {
      const kept$ = defer(() =>
        other$.pipe(
          refuseEndless(() => `${at}: the other side never ends`, 'calls'),
          reduce((kept, page) => {
            add(kept, page);
            page.lease.release();
            return kept;
          }, collect()),
        ),
      ).pipe(shareReplay({ bufferSize: 1, refCount: true }));
      return main$.pipe(
        tap<Page<In>>(keep),
        delayWhen(() => kept$),
        handOver(),
        connect((waiting$) => {
          const failure$ = waiting$.pipe(ignoreElements(), takeUntil(kept$));
          return merge(kept$.pipe(concatMap((kept) => waiting$.pipe(step(kept)))), failure$);
        }),
      );
    });
}
