import { defer, map, Observable, ReplaySubject, share } from 'rxjs';
import { maxTimerMs } from '../options/index.js';
import { isBatchPage, pageOf, type Page } from './page.js';

/** How long cached rows may be used. */
export interface CacheOptions {
  /** Time from the start of a read after which the next subscriber starts another one, in milliseconds; may be `Infinity`. */
  readonly maxAgeMs: number;
}

/** Reads once for all subscribers that need the same rows at the same time or soon after each other; see `RowStream.cached`. */
export function cachedPages<T>(open: () => Observable<Page<T>>, { maxAgeMs }: CacheOptions): Observable<Page<T>> {
  let startedAt = 0;
  const read$ = defer(() => {
    startedAt = performance.now();
    return open();
  });
  const resetOnComplete = () => elapsed(startedAt + maxAgeMs - performance.now());
  return read$.pipe(map(ownPage), share({ connector: () => new ReplaySubject<Page<T>>(), resetOnComplete }), map(ownPage));
}

/** Emits after a time, without keeping the process alive. */
function elapsed(ms: number): Observable<void> {
  return new Observable((subscriber) => {
    const timer = ms < maxTimerMs ? setTimeout(() => subscriber.next(), ms).unref() : undefined;
    return () => clearTimeout(timer);
  });
}

/** Returns a page that nobody else can change. It stays in memory regardless of consumers, so it does not use a window. */
function ownPage<T>(page: Page<T>): Page<T> {
  const lease = { release: () => {} };
  return isBatchPage(page) ? pageOf(page.number, page.batch, lease) : { number: page.number, rows: page.rows.map(copyOf), lease };
}

/** Copies a value with its dates, lists and plain objects; instances of classes are shared. */
function copyOf<V>(value: V): V;
function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return new Date(value);
  if (Array.isArray(value)) return value.map((each: unknown) => copyOf(each));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyOf<unknown>(each)]));
}
