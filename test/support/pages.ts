import { Observable, defer, from, map, of } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { batchOf, handOver, pagedBatches, type Page, type PagedList } from '../../src/flow/index.js';

/** Makes a page without a window. */
export function pageOf<T>(number: number, rows: readonly T[], release: () => void = () => {}): Page<T> {
  return { number, rows, lease: { release } };
}

/** Returns the parts of a page that a test compares: its number and rows. */
export function shown<T>({ number, rows }: Page<T>): { number: number; rows: readonly T[] } {
  return { number, rows };
}

/** Runs a marble test; streams are compared with `toEqual`. */
export function marbles(test: Parameters<TestScheduler['run']>[0]): void {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(test);
}

/** Makes a list of `pages` pages with `size` rows each, numbered from 0. */
export function listOf(pages: number, size = 2): (page: number) => readonly number[] {
  return (page) => (page > pages ? [] : Array.from({ length: size }, (_, i) => (page - 1) * size + i));
}

/** Reads pages of any rows as a list of the service is read: each row is a field of a record. An empty page is its end by default. */
export function pagedSource<T>(
  fetch: (page: number, count: number) => Observable<readonly T[]>,
  { window = 8, ...options }: Partial<PagedList & { readonly window: number }> = {},
): Observable<Page<T>> {
  const records = (rows: readonly T[]) => rows.map((row) => ({ row: row as string }));
  const batch = (rows: readonly T[]) => batchOf(pageOf(1, records(rows)));
  const page = (number: number, count = 1) => defer(() => fetch(number, count)).pipe(map(batch));
  const list = { concurrency: 4, firstPage: 1, page, confirm: () => of(undefined), ...options };
  return pagedBatches<{ row: string }>('the list', list, window).pipe(
    map(({ number, rows, lease }) => ({ number, rows: rows.map(({ row }) => row as T), lease })),
    handOver(),
  );
}

/** A fetch function that counts, and answers when the test says so or by itself. */
interface CountedFetch<T> {
  readonly fetch: (page: number) => Observable<readonly T[]>;
  /** Pages in the order requested; a page read twice appears twice. */
  readonly asked: readonly number[];
  /** Requests in flight now. */
  readonly inFlight: () => number;
  /** Maximum number of requests that were ever in flight. */
  readonly mostInFlight: () => number;
  /** Pages whose request was cancelled before it answered. */
  readonly aborted: readonly number[];
  /** Answers the request of a page. */
  answer(page: number): void;
  fail(page: number, error: unknown): void;
}

/**
 * @param answer The rows of a page.
 * @param by `sync` answers within the subscription, `hand` when the test says so, a function after that many turns of the event loop.
 */
export function countedFetch<T>(answer: (page: number) => readonly T[], by: 'sync' | 'hand' | ((page: number) => number)): CountedFetch<T> {
  const asked: number[] = [];
  const aborted: number[] = [];
  const pending = new Map<number, { done: () => void; fail: (error: unknown) => void }>();
  let inFlight = 0;
  let most = 0;
  return {
    asked,
    aborted,
    inFlight: () => inFlight,
    mostInFlight: () => most,
    answer: (page) => pending.get(page)?.done(),
    fail: (page, error) => pending.get(page)?.fail(error),
    fetch: (page) =>
      new Observable((subscriber) => {
        asked.push(page);
        inFlight += 1;
        most = Math.max(most, inFlight);
        let settled = false;
        const settle = (): boolean => {
          if (settled) return false;
          settled = true;
          inFlight -= 1;
          return true;
        };
        const done = (): void => {
          if (!settle()) return;
          subscriber.next(answer(page));
          subscriber.complete();
        };
        const fail = (error: unknown): void => {
          if (settle()) subscriber.error(error);
        };
        if (by === 'sync') done();
        else if (by === 'hand') pending.set(page, { done, fail });
        else void turns(by(page)).then(done);
        return () => {
          if (settle()) aborted.push(page);
        };
      }),
  };
}

/** Waits for a number of turns of the event loop, so that whatever is ready has happened. */
export async function turns(count = 3): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((done) => setImmediate(done));
}

/** Makes pages from an array, and records the numbers of released pages, in order. */
export function leasedPages<T>(rows: readonly (readonly T[])[]): {
  pages$: Observable<Page<T>>;
  pages: readonly Page<T>[];
  released: number[];
} {
  const released: number[] = [];
  const pages = rows.map((some, index) => pageOf(index + 1, some, () => void released.push(index + 1)));
  return { pages$: from(pages), pages, released };
}
