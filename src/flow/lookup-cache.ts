import { defer, finalize, of, shareReplay, tap, type Observable } from 'rxjs';

/**
 * Remembers what was found for texts: what is under way or among the last `most` that were wanted is not looked for again. What nobody waits for
 * any more is left.
 */
export class LookupCache<V> {
  /** Those wanted last come last. */
  readonly #known = new Map<string, { readonly value: V }>();
  readonly #underWay = new Map<string, Observable<V>>();

  /** @param find Gives one value. A failure is not remembered. */
  constructor(
    private readonly find: (text: string) => Observable<V>,
    private readonly most: number,
  ) {}

  /** Whether nothing has to be looked for. */
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
