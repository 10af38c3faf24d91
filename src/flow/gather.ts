import { from, map, mergeMap, reduce, type Observable } from 'rxjs';

/**
 * Makes a request for each item and emits all results as one list, in the order of the items.
 *
 * @param ask Emits one value per item.
 * @param concurrency Requests at a time, at least 1.
 */
export function gather<T, R>(items: readonly T[], ask: (item: T) => Observable<R>, concurrency: number): Observable<readonly R[]> {
  return from(items.entries()).pipe(
    mergeMap(([index, item]) => ask(item).pipe(map((found) => ({ index, found }))), concurrency),
    reduce((list: { readonly index: number; readonly found: R }[], entry) => (list.push(entry), list), []),
    map((list) => list.toSorted((a, b) => a.index - b.index).map(({ found }) => found)),
  );
}
