import { Observable, type Subscriber, type Subscription } from 'rxjs';
import type { Column, Consistency } from '../core/index.js';
import { withLease, type Page } from './page.js';

/** How long rows that were read are good enough. */
export interface CacheOptions {
  /** Time from the beginning of a read after which the next subscriber causes another one, in milliseconds; may be `Infinity`. */
  readonly maxAgeMs: number;
}

/** A read that can be begun. */
export interface CachedRead<T> {
  readonly pages$: Observable<Page<T>>;
  columns(): readonly Column[] | undefined;
  readonly consistency: Consistency | undefined;
}

/** Pages that stay in memory whoever takes them have no place in a window. */
const noLease = { release: () => {} };

/** More than this a timer of Node cannot wait. */
const maxTimerMs = 2 ** 31 - 1;

/** One read, its pages so far, and who gets them. */
class SharedRead<T> {
  readonly startedAt = performance.now();
  readonly #pages: Page<T>[] = [];
  readonly #subscribers = new Set<Subscriber<Page<T>>>();
  #complete = false;
  #reading: Subscription | undefined;

  /** @param given Called when the read is of no use to anybody any more: it failed, or was left by all. */
  constructor(
    readonly read: CachedRead<T>,
    private readonly given: () => void,
  ) {}

  isFresh(maxAgeMs: number): boolean {
    return !this.#complete || performance.now() - this.startedAt < maxAgeMs;
  }

  /** Gives all pages from the first on, those that are there at once. */
  serve(subscriber: Subscriber<Page<T>>): void {
    for (const page of this.#pages) subscriber.next(page);
    if (this.#complete) {
      subscriber.complete();
      return;
    }
    this.#subscribers.add(subscriber);
    subscriber.add(() => this.#leave(subscriber));
    if (!subscriber.closed) this.#reading ??= this.#start();
  }

  #start(): Subscription {
    return this.read.pages$.subscribe({
      next: (page) => {
        const kept = withLease(page, noLease);
        this.#pages.push(kept);
        for (const each of [...this.#subscribers]) each.next(kept);
      },
      error: (error: unknown) => {
        this.given();
        for (const each of this.#taken()) each.error(error);
      },
      complete: () => {
        this.#complete = true;
        for (const each of this.#taken()) each.complete();
      },
    });
  }

  #taken(): readonly Subscriber<Page<T>>[] {
    const all = [...this.#subscribers];
    this.#subscribers.clear();
    return all;
  }

  #leave(subscriber: Subscriber<Page<T>>): void {
    if (!this.#subscribers.delete(subscriber) || this.#subscribers.size > 0) return;
    this.given();
    this.#reading?.unsubscribe();
  }
}

/** Reads once for all who want the same rows, at the same time or soon after each other. */
export class PageCache<T> {
  #current: SharedRead<T> | undefined;
  #last: CachedRead<T> | undefined;

  constructor(
    private readonly open: () => CachedRead<T>,
    private readonly maxAgeMs: number,
  ) {}

  /** The read that was begun last; `undefined` before the first. */
  get last(): CachedRead<T> | undefined {
    return this.#last;
  }

  readonly pages$ = new Observable<Page<T>>((subscriber) => {
    if (!this.#current?.isFresh(this.maxAgeMs)) this.#current = this.#begin();
    this.#current.serve(subscriber);
  });

  #begin(): SharedRead<T> {
    const read = this.open();
    const shared: SharedRead<T> = new SharedRead(read, () => this.#forget(shared));
    this.#last = read;
    // What is too old need not stay in memory until somebody asks again; whoever gets it now, gets all of it.
    const { maxAgeMs } = this;
    // A timer may fire a little early.
    if (maxAgeMs < maxTimerMs) setTimeout(() => shared.isFresh(maxAgeMs) || this.#forget(shared), maxAgeMs + 1).unref();
    return shared;
  }

  #forget(shared: SharedRead<T>): void {
    if (this.#current === shared) this.#current = undefined;
  }
}
