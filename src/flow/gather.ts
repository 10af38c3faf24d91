import { from, map, mergeMap, reduce, type Observable } from 'rxjs';

/**
 * Asks for something of each of some items and gives all that came as one list, in the order of the items.
 *
 * @param ask Gives one value each.
 * @param concurrency Items asked for at once, at least 1.
 */
export function gather<T, R>(items: readonly T[], ask: (item: T) => Observable<R>, concurrency: number): Observable<readonly R[]> {
  return from(items.entries()).pipe(
    mergeMap(([index, item]) => ask(item).pipe(map((found) => ({ index, found }))), concurrency),
    reduce((list: { readonly index: number; readonly found: R }[], entry) => (list.push(entry), list), []),
    map((list) => list.toSorted((a, b) => a.index - b.index).map(({ found }) => found)),
  );
}
