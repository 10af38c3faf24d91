import fc from 'fast-check';
import type { Observable } from 'rxjs';
import { EMPTY, concat, lastValueFrom, of, takeWhile, tap, toArray } from 'rxjs';
import { SourceError } from '../../../src/core/errors.js';
import { keep, rows, type Page } from '../../../src/flow/index.js';
import { countedFetch, listOf, pagedSource, turns } from '../../support/pages.js';
import { seeded } from '../../support/seeded.js';

/** Subscribes with a sink that keeps what it gets and releases nothing by itself. */
function hoard<T>(source$: Observable<Page<T>>) {
  const pages: Page<T>[] = [];
  const state: { pages: Page<T>[]; failure?: unknown; completed: boolean } = { pages, completed: false };
  const subscription = source$.subscribe({
    next: (page) => {
      keep(page);
      pages.push(page);
    },
    error: (error: unknown) => (state.failure = error),
    complete: () => (state.completed = true),
  });
  return { state, numbers: () => pages.map(({ number }) => number), subscription };
}

/** Reads pages one after another, up to the first without rows. */
function inTurn<T>(fetch: (page: number) => Observable<readonly T[]>, page: number, count: number): Observable<readonly T[]> {
  return concat(...Array.from({ length: count }, (_, index) => fetch(page + index))).pipe(takeWhile((rows) => rows.length > 0, true));
}

const readAll = <T>(source$: Observable<Page<T>>) => lastValueFrom(source$.pipe(rows(), toArray()));

describe('a paged read', () => {
  test('gives every row exactly once and in order, whatever the latency, bounds and order of release', async () => {
    const sizes = {
      window: fc.integer({ min: 1, max: 9 }),
      concurrency: fc.integer({ min: 1, max: 9 }),
      most: fc.integer({ min: 1, max: 4 }),
    };
    await fc.assert(
      fc.asyncProperty(
        fc.record({ ...sizes, pages: fc.nat(25), seed: fc.integer() }),
        async ({ window, concurrency, most: turn, pages, seed }) => {
          const random = seeded(seed);
          const list = countedFetch(listOf(pages), () => Math.floor(random() * 4));
          const seen: number[] = [];
          let outstanding = 0;
          let most = 0;
          const held: Page<number>[] = [];
          await new Promise<void>((done, fail) => {
            const release = (): void => {
              const [page] = held.splice(Math.floor(random() * held.length), 1);
              if (page === undefined) return;
              outstanding -= 1;
              page.lease.release();
            };
            const together = () => 1 + Math.floor(random() * Math.min(turn, window));
            // The service may stop in the middle of a turn.
            const fetch = (page: number, count: number) => inTurn(list.fetch, page, 1 + Math.floor(random() * count));
            pagedSource(fetch, { window, concurrency, together }).subscribe({
              next: (page) => {
                seen.push(...page.rows);
                keep(page);
                held.push(page);
                outstanding += 1;
                most = Math.max(most, outstanding);
                void turns(Math.floor(random() * 4)).then(release);
              },
              error: fail,
              complete: done,
            });
          });
          expect(seen).toEqual(Array.from({ length: pages * 2 }, (_, row) => row));
          expect(most).toBeLessThanOrEqual(window * turn);
          expect(list.mostInFlight()).toBeLessThanOrEqual(Math.min(concurrency, window) * turn);
        },
      ),
    );
  });

  describe('bounds', () => {
    const bounds = [
      [1, 1],
      [3, 2],
      [8, 4],
      [4, 9],
    ] as const;

    test.each(bounds)('requests exactly window=%i pages (concurrency=%i) for a sink that never answers', async (window, concurrency) => {
      const list = countedFetch(listOf(1000), 'sync');
      const sink = hoard(pagedSource(list.fetch, { window, concurrency }));
      await turns(50);
      expect([...list.asked].sort((a, b) => a - b)).toEqual(Array.from({ length: window }, (_, i) => i + 1));
      expect(sink.numbers()).toEqual(Array.from({ length: window }, (_, i) => i + 1));
    });

    test('grants by page number: a later page released first makes no room', async () => {
      const list = countedFetch(listOf(1000), 'sync');
      const sink = hoard(pagedSource(list.fetch, { window: 3, concurrency: 1 }));
      await turns(20);
      sink.state.pages[2]?.lease.release();
      sink.state.pages[1]?.lease.release();
      await turns(20);
      expect(list.asked).toEqual([1, 2, 3]);
      sink.state.pages[0]?.lease.release();
      await turns(20);
      expect(list.asked).toEqual([1, 2, 3, 4, 5, 6]);
    });

    test('counts the pages of a turn, which is granted as a whole', async () => {
      const list = countedFetch(listOf(1000), 'sync');
      const fetch = (page: number, count: number) => inTurn(list.fetch, page, count);
      const sink = hoard(pagedSource(fetch, { window: 2, concurrency: 2, together: () => 4 }));
      await turns(50);
      // The first two come alone: with the turn from 7 on, the tenth page would be held.
      expect(list.asked).toEqual([1, 2, 3, 4, 5, 6]);
      sink.state.pages[1]?.lease.release();
      await turns(20);
      expect(list.asked).toEqual([1, 2, 3, 4, 5, 6]);
      sink.state.pages[0]?.lease.release();
      await turns(20);
      expect(list.asked).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(sink.numbers()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    });

    test('reads the rest of a turn side by side when pages have become slow, and gives no later turn room before', async () => {
      const list = countedFetch(listOf(1000), 'hand');
      let together = 4;
      const sink = hoard(pagedSource(list.fetch, { window: 4, concurrency: 2, together: () => together }));
      const answer = async (page: number) => {
        list.answer(page);
        await turns();
      };
      await turns();
      await answer(1);
      await answer(2);
      for (const page of [0, 1]) sink.state.pages[page]?.lease.release();
      await turns();
      expect(list.asked).toEqual([1, 2, 3, 7]);
      together = 1;
      await answer(3);
      expect(list.asked).toEqual([1, 2, 3, 7, 4, 5, 6]);
      for (const page of [4, 5, 6]) await answer(page);
      for (const page of [2, 3, 4, 5]) sink.state.pages[page]?.lease.release();
      await answer(7);
      expect(list.asked).toEqual([1, 2, 3, 7, 4, 5, 6, 8, 9, 10]);
    });

    test('grants a turn that has become larger than the window', async () => {
      const list = countedFetch(listOf(1000), 'hand');
      let together = 4;
      const sink = hoard(pagedSource(list.fetch, { window: 1, concurrency: 1, together: () => together }));
      await turns();
      list.answer(1);
      await turns();
      expect(list.asked).toEqual([1]);
      together = 1;
      sink.state.pages[0]?.lease.release();
      await turns();
      expect(list.asked).toEqual([1, 2]);
    });

    test('reads 100,000 pages that are fetched and released synchronously without growing the stack', async () => {
      let seen = 0;
      const source$ = pagedSource((page) => of(page > 100_000 ? [] : [page]), { window: 8, concurrency: 4 });
      await lastValueFrom(source$.pipe(tap(({ lease }) => ((seen += 1), lease.release()))));
      expect(seen).toBe(100_000);
    });
  });

  test('unsubscribe aborts the requests in flight, and ends their turns', async () => {
    const list = countedFetch(listOf(100), 'hand');
    const fetch = (page: number, count: number) => inTurn(list.fetch, page, count);
    const sink = hoard(pagedSource(fetch, { window: 12, concurrency: 3, together: () => 2 }));
    await turns();
    list.answer(1);
    await turns();
    list.answer(4);
    await turns();
    sink.subscription.unsubscribe();
    await turns();
    expect(list.asked).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(list.aborted)).toEqual(new Set([2, 3, 5]));
    expect(list.inFlight()).toBe(0);
  });

  describe('failure', () => {
    const broken = new SourceError('E_SOURCE_UNAVAILABLE', 'transient', 'page 3 is broken');

    test('tells the error only after every earlier page was released', async () => {
      const list = countedFetch(listOf(10), 'hand');
      const sink = hoard(pagedSource(list.fetch, { window: 8, concurrency: 4 }));
      await turns();
      list.fail(3, broken);
      list.answer(4);
      list.answer(2);
      list.answer(1);
      await turns();
      expect(sink.numbers()).toEqual([1, 2]);
      expect(sink.state.failure).toBeUndefined();
      sink.state.pages[1]?.lease.release();
      expect(sink.state.failure).toBeUndefined();
      sink.state.pages[0]?.lease.release();
      expect(sink.state.failure).toBe(broken);
    });

    test('in the middle of a turn comes behind the pages before it, and nothing behind it comes', async () => {
      const list = countedFetch(listOf(100), 'hand');
      const fetch = (page: number, count: number) => inTurn(list.fetch, page, count);
      const sink = hoard(pagedSource(fetch, { window: 12, concurrency: 2, together: () => 3 }));
      for (const page of [1, 2, 3, 6]) {
        await turns();
        list.answer(page);
      }
      await turns();
      list.fail(7, broken);
      for (const page of [4, 5]) {
        await turns();
        list.answer(page);
      }
      expect(sink.numbers()).toEqual([1, 2, 3, 4, 5, 6]);
      expect([list.asked, list.inFlight(), sink.state.failure]).toEqual([[1, 2, 3, 6, 4, 7, 5], 0, undefined]);
      sink.state.pages.forEach(({ lease }) => lease.release());
      expect(sink.state.failure).toBe(broken);
    });

    test('requests nothing and aborts what is in flight once a page in order has failed', async () => {
      const list = countedFetch(listOf(100), 'hand');
      const sink = hoard(pagedSource(list.fetch, { window: 6, concurrency: 3 }));
      await turns();
      list.fail(1, broken);
      await turns();
      expect(sink.state.failure).toBe(broken);
      expect(list.aborted).toEqual([2, 3]);
      expect(list.asked).toEqual([1, 2, 3]);
    });

    test('fails when a page is answered twice, instead of losing rows', async () => {
      const fetch = (page: number): Observable<readonly number[]> => (page === 2 ? of([2], [22]) : of(page > 4 ? [] : [page]));
      await expect(readAll(pagedSource(fetch, { window: 4, concurrency: 2 }))).rejects.toThrow('page 2 was answered twice');
    });

    test('fails when no page of a turn is answered, instead of reading it as the end', async () => {
      const fetch = (page: number): Observable<readonly number[]> => (page === 3 ? EMPTY : of([page]));
      await expect(readAll(pagedSource(fetch, { window: 4, concurrency: 2, together: () => 2 }))).rejects.toThrow('no elements');
    });
  });

  test('end of the list goes on where whoever confirms it says so, and holds no more than the window', async () => {
    const list = countedFetch(listOf(6), 'sync');
    let claims = 0;
    const pages$ = pagedSource((page) => (page > 3 && claims === 0 ? of([]) : list.fetch(page)), {
      window: 2,
      concurrency: 2,
      confirm: ({ page }) => of((claims += 1) === 1 ? page : undefined),
    });
    expect(await readAll(pages$)).toHaveLength(12);
    expect(claims).toBe(2);
  });
});
