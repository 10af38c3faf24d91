import { concat, defer, from, ignoreElements, mergeMap, of, shareReplay, tap, type Observable } from 'rxjs';

/** Caches the last `most` look-ups by text, also while in progress, but no failures. One that nothing awaits is unsubscribed. */
export class LookupCache<V> {
  /** Most recently requested last. */
  readonly #recent = new Map<string, Observable<V>>();

  /** @param find Emits one value. */
  constructor(
    private readonly find: (text: string) => Observable<V>,
    private readonly most: number,
  ) {}

  has(text: string): boolean {
    return this.#recent.has(text);
  }

  of(text: string): Observable<V> {
    const found$ = this.#recent.get(text) ?? defer(() => this.find(text)).pipe(shareReplay({ bufferSize: 1, refCount: true }));
    this.#recent.delete(text);
    this.#recent.set(text, found$);
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > this.most && oldest !== undefined) this.#recent.delete(oldest);
    return found$;
  }
}

/** Makes a request per item, each of which emits one value, and emits all results as one list, in the order of the items. */
export function gather<T, R>(items: readonly T[], find: (item: T) => Observable<R>, concurrency: number): Observable<readonly R[]> {
  return defer(() => {
    const found: R[] = [];
    const all$ = from(items.entries()).pipe(mergeMap(([index, item]) => find(item).pipe(tap((one) => (found[index] = one))), concurrency));
    return concat(all$.pipe(ignoreElements()), of(found));
  });
}
