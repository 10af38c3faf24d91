import { concatMap, reduce, type Observable } from 'rxjs';
import type { Page, Step } from './page.js';

/**
 * Reads another stream to its end before the first page of the main one is requested, then runs a step that knows it.
 *
 * @param other$ The side to read first; each page is released as soon as it was added.
 * @param collect Makes an empty collection of what is kept, once per subscription.
 * @param add Adds the rows of a page. What it keeps stays in memory for the length of the stream.
 * @param step The step to run with what was collected.
 */
export function preload<Other, Kept, In, Out>(
  other$: Observable<Page<Other>>,
  collect: () => Kept,
  add: (kept: Kept, page: Page<Other>) => void,
  step: (kept: Kept) => Step<In, Out>,
): Step<In, Out> {
  return (main$) =>
    other$.pipe(
      reduce((kept: Kept | undefined, page) => {
        const target = kept ?? collect();
        add(target, page);
        page.lease.release();
        return target;
      }, undefined),
      concatMap((kept) => main$.pipe(step(kept ?? collect()))),
    );
}
