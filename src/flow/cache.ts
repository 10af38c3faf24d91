import { map, Observable, type Subscriber, type Subscription } from 'rxjs';
import type { Column, Consistency } from '../core/index.js';
import { maxTimerMs } from '../options/index.js';
import { isBatchPage, pageOf, withRows, type Lease, type Page } from './page.js';

/** How long cached rows may be used. */
export interface CacheOptions {
  /** Time from the start of a read after which the next subscriber starts another one, in milliseconds; may be `Infinity`. */
  readonly maxAgeMs: number;
}

/** A read that can be started. */
interface CachedRead<T> {
  readonly pages$: Observable<Page<T>>;
  columns(): readonly Column[] | undefined;
  readonly consistency: Consistency | undefined;
}

/** One read, its pages so far, and its subscribers. */
class SharedRead<T> {
  readonly startedAt = performance.now();
  readonly #pages: SharedPage<T>[] = [];
  readonly #subscribers = new Set<Subscriber<Page<T>>>();
  #complete = false;
  #reading: Subscription | undefined;

  /**
   * @param ended Called when the read ends; `isUseless` is true if it failed or all subscribers left.
   */
  constructor(
    readonly read: CachedRead<T>,
    private readonly ended: (isUseless: boolean) => void,
  ) {}

  isFresh(maxAgeMs: number): boolean {
    return !this.#complete || performance.now() - this.startedAt < maxAgeMs;
  }

  /** Emits all pages from the first, those already read immediately. */
  serve(subscriber: Subscriber<Page<T>>): void {
    for (const page of this.#pages) subscriber.next(page.forReader());
    if (this.#complete) {
      subscriber.complete();
      return;
    }
    this.#subscribers.add(subscriber);
    subscriber.add(() => this.#leave(subscriber));
    if (!subscriber.closed) this.#reading ??= this.#start();
  }

  #start(): Subscription {
    return this.read.pages$.pipe(map((page) => new SharedPage(page))).subscribe({
      next: (shared) => {
        this.#pages.push(shared);
        for (const each of [...this.#subscribers]) each.next(shared.forReader());
      },
      error: (error: unknown) => {
        this.ended(true);
        for (const each of this.#taken()) each.error(error);
      },
      complete: () => {
        this.#complete = true;
        for (const each of this.#taken()) each.complete();
        this.ended(false);
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
    this.ended(true);
    this.#reading?.unsubscribe();
  }
}

/** Reads once for all subscribers that need the same rows at the same time or soon after each other. */
export class PageCache<T> {
  #current: SharedRead<T> | undefined;
  #last: CachedRead<T> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly open: () => CachedRead<T>,
    private readonly maxAgeMs: number,
  ) {}

  /** The most recently started read; `undefined` before the first. */
  get last(): CachedRead<T> | undefined {
    return this.#last;
  }

  readonly pages$ = new Observable<Page<T>>((subscriber) => {
    if (!this.#current?.isFresh(this.maxAgeMs)) this.#current = this.#begin();
    this.#current.serve(subscriber);
  });

  #begin(): SharedRead<T> {
    const read = this.open();
    const shared: SharedRead<T> = new SharedRead(read, (isUseless) => this.#ended(shared, isUseless));
    this.#last = read;
    this.#wait();
    return shared;
  }

  /** A separate function, so that the timer does not retain the read: an abandoned one must not stay in memory until then. */
  #wait(): void {
    clearTimeout(this.#timer);
    // A timer may fire a little early.
    if (this.maxAgeMs < maxTimerMs) this.#timer = setTimeout(() => this.#forgetOld(), this.maxAgeMs + 1).unref();
  }

  #ended(shared: SharedRead<T>, isUseless: boolean): void {
    if (this.#current !== shared) return;
    if (isUseless) this.#current = undefined;
    else this.#forgetOld();
  }

  /** Frees an expired read instead of keeping it until the next request; current subscribers still get all of it. */
  #forgetOld(): void {
    if (!this.#current?.isFresh(this.maxAgeMs)) this.#current = undefined;
  }
}

/** Pages that stay in memory regardless of consumers do not use a window. */
const lease: Lease = { release: () => {} };

/**
 * A page for several readers that cannot affect each other. Rows of a program are copied on arrival, and frozen, including their lists and
 * plain objects; instances of classes are shared.
 */
class SharedPage<T> {
  readonly #page: Page<T>;
  #hasDates = false;

  constructor(page: Page<T>) {
    this.#page = isBatchPage(page)
      ? page
      : withRows(
          page,
          page.rows.map((row) => this.#copy(row)),
        );
  }

  /** Returns the page for one reader. Dates cannot be frozen, so each reader gets its own. */
  forReader(): Page<T> {
    const page = this.#page;
    if (isBatchPage(page)) return pageOf(page.number, page.batch, lease);
    return { number: page.number, rows: this.#hasDates ? page.rows.map((row) => this.#copy(row)) : page.rows, lease };
  }

  #copy<V>(value: V): V;
  #copy(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof Date) {
      this.#hasDates = true;
      return new Date(value);
    }
    if (Array.isArray(value)) return Object.freeze(value.map((each: unknown) => this.#copy(each)));
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== null && prototype !== Object.prototype) return value;
    const copy = { ...value };
    for (const [name, each] of Object.entries(copy))
      if (typeof each === 'object') Object.defineProperty(copy, name, { value: this.#copy(each) });
    return Object.freeze(copy);
  }
}
