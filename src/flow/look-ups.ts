import { defer, finalize, from, map, mergeMap, of, reduce, shareReplay, tap, type Observable } from 'rxjs';

/**
 * Caches look-ups by text: one that is in progress, or among the last `most` requested, is not repeated. A look-up that nothing waits for
 * any more is unsubscribed.
 */
export class LookupCache<V> {
  /** Most recently requested last. */
  readonly #known = new Map<string, { readonly value: V }>();
  readonly #underWay = new Map<string, Observable<V>>();

  /**
   * @param find Emits one value. A failure is not cached.
   */
  constructor(
    private readonly find: (text: string) => Observable<V>,
    private readonly most: number,
  ) {}

  /** Returns whether no look-up is needed. */
  has(text: string): boolean {
    return this.#known.has(text) || this.#underWay.has(text);
  }

  of(text: string): Observable<V> {
    return defer(() => {
      const known = this.#known.get(text);
      if (!known) return this.#underWay.get(text) ?? this.#begin(text);
      this.#remember(text, known.value);
      return of(known.value);
    });
  }

  #begin(text: string): Observable<V> {
    const found$ = this.find(text).pipe(
      tap((value) => this.#remember(text, value)),
      finalize(() => this.#underWay.delete(text)),
      shareReplay({ bufferSize: 1, refCount: true }),
    );
    this.#underWay.set(text, found$);
    return found$;
  }

  #remember(text: string, value: V): void {
    this.#known.delete(text);
    this.#known.set(text, { value });
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.most && oldest !== undefined) this.#known.delete(oldest);
  }
}

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
