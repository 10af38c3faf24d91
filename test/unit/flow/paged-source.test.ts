import fc from 'fast-check';
import type { Observable } from 'rxjs';
import { EMPTY, concat, lastValueFrom, of, takeWhile, tap, toArray } from 'rxjs';
import { SourceError } from '../../../src/core/errors.js';
import { keep, rows, type Page } from '../../../src/flow/index.js';
import { countedFetch, listOf, pagedSource, turns } from '../../support/pages.js';
import { seeded } from '../../support/seeded.js';

/** Reads pages one after another, up to the first without rows. */
function inTurn<T>(fetch: (page: number) => Observable<readonly T[]>, page: number, count: number): Observable<readonly T[]> {
  return concat(...Array.from({ length: count }, (_, index) => fetch(page + index))).pipe(takeWhile((rows) => rows.length > 0, true));
}

/** Reads a list, at most so many pages at once, with a sink that keeps its pages and releases none by itself. */
async function reading(by: 'sync' | 'hand', bounds: Parameters<typeof pagedSource>[1], most = Infinity) {
  const list = countedFetch(listOf(1000), by);
  const pages: Page<number>[] = [];
  const state: { failure?: unknown } = {};
  const subscription = pagedSource((page, count) => inTurn(list.fetch, page, Math.min(count, most)), bounds).subscribe({
    next: (page) => (keep(page), pages.push(page)),
    error: (error: unknown) => (state.failure = error),
  });
  const each =
    (act: (page: number) => void) =>
    async (...numbers: readonly number[]) => {
      for (const number of numbers) {
        act(number);
        await turns(20);
      }
    };
  await turns(20);
  return {
    ...list,
    subscription,
    state,
    numbers: () => pages.map(({ number }) => number),
    answer: each(list.answer),
    release: each((number) => pages.find((page) => page.number === number)?.lease.release()),
  };
}

const readAll = <T>(source$: Observable<Page<T>>) => lastValueFrom(source$.pipe(rows(), toArray()));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

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
          let most = 0;
          const held: Page<number>[] = [];
          await new Promise<void>((done, fail) => {
            const release = () => held.splice(Math.floor(random() * held.length), 1).forEach(({ lease }) => lease.release());
            const together = () => 1 + Math.floor(random() * Math.min(turn, window));
            // The service may stop in the middle of a turn.
            const fetch = (page: number, count: number) => inTurn(list.fetch, page, 1 + Math.floor(random() * count));
            pagedSource(fetch, { window, concurrency, together }).subscribe({
              next: (page) => {
                seen.push(...page.rows);
                keep(page);
                held.push(page);
                most = Math.max(most, held.length);
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
      const { asked, numbers } = await reading('sync', { window, concurrency });
      expect(asked.toSorted((a, b) => a - b)).toEqual(upTo(window));
      expect(numbers()).toEqual(upTo(window));
    });

    test('grants by page number: a later page released first makes no room', async () => {
      const { asked, release } = await reading('sync', { window: 3, concurrency: 1 });
      await release(3, 2);
      expect(asked).toEqual(upTo(3));
      await release(1);
      expect(asked).toEqual(upTo(6));
    });

    test('counts the pages of a turn, which is granted as a whole', async () => {
      const { asked, numbers, release } = await reading('sync', { window: 2, concurrency: 2, together: () => 4 });
      // The first two come alone: with the turn from 7 on, the tenth page would be held.
      expect(asked).toEqual(upTo(6));
      await release(2);
      expect(asked).toEqual(upTo(6));
      await release(1);
      expect(asked).toEqual(upTo(10));
      expect(numbers()).toEqual(upTo(10));
    });

    test('reads the rest of a turn side by side when pages have become slow, and gives no later turn room before', async () => {
      let together = 4;
      const { asked, answer, release } = await reading('hand', { window: 4, concurrency: 2, together: () => together }, 1);
      await answer(1, 2);
      await release(1, 2);
      expect(asked).toEqual([1, 2, 3, 7]);
      together = 1;
      await answer(3);
      expect(asked).toEqual([1, 2, 3, 7, 4, 5, 6]);
      await answer(4, 5, 6);
      await release(3, 4, 5, 6);
      await answer(7);
      expect(asked).toEqual([1, 2, 3, 7, 4, 5, 6, 8, 9, 10]);
    });

    test('grants a turn that has become larger than the window', async () => {
      let together = 4;
      const { asked, answer, release } = await reading('hand', { window: 1, concurrency: 1, together: () => together });
      await answer(1);
      expect(asked).toEqual([1]);
      together = 1;
      await release(1);
      expect(asked).toEqual([1, 2]);
    });

    test('reads 20,000 pages that are fetched and released synchronously without growing the stack', async () => {
      let seen = 0;
      const source$ = pagedSource((page) => of(page > 20_000 ? [] : [page]), { window: 8, concurrency: 4 });
      await lastValueFrom(source$.pipe(tap(({ lease }) => ((seen += 1), lease.release()))));
      expect(seen).toBe(20_000);
    });
  });

  test('unsubscribe aborts the requests in flight, and ends their turns', async () => {
    const { asked, aborted, inFlight, answer, subscription } = await reading('hand', { window: 12, concurrency: 3, together: () => 2 });
    await answer(1, 4);
    subscription.unsubscribe();
    await turns();
    expect(asked).toEqual(upTo(5));
    expect(new Set(aborted)).toEqual(new Set([2, 3, 5]));
    expect(inFlight()).toBe(0);
  });

  describe('failure', () => {
    const broken = new SourceError('E_SOURCE_UNAVAILABLE', 'transient', 'page 3 is broken');

    test('tells the error only after every earlier page was released', async () => {
      const { state, numbers, fail, answer, release } = await reading('hand', { window: 8, concurrency: 4 });
      fail(3, broken);
      await answer(4, 2, 1);
      expect(numbers()).toEqual([1, 2]);
      await release(2);
      expect(state.failure).toBeUndefined();
      await release(1);
      expect(state.failure).toBe(broken);
    });

    test('in the middle of a turn comes behind the pages before it, and nothing behind it comes', async () => {
      const { state, asked, inFlight, numbers, fail, answer, release } = await reading('hand', {
        window: 12,
        concurrency: 2,
        together: () => 3,
      });
      await answer(1, 2, 3, 6);
      fail(7, broken);
      await answer(4, 5);
      expect(numbers()).toEqual(upTo(6));
      expect([asked, inFlight(), state.failure]).toEqual([[1, 2, 3, 6, 4, 7, 5], 0, undefined]);
      await release(...upTo(6));
      expect(state.failure).toBe(broken);
    });

    test('requests nothing and aborts what is in flight once a page in order has failed', async () => {
      const { state, asked, aborted, fail } = await reading('hand', { window: 6, concurrency: 3 });
      fail(1, broken);
      await turns();
      expect(state.failure).toBe(broken);
      expect([asked, aborted]).toEqual([upTo(3), [2, 3]]);
    });

    test.each<[string, (page: number) => Observable<readonly number[]>, string]>([
      [
        'a page is answered twice, instead of losing rows',
        (page) => (page === 2 ? of([2], [22]) : of([page])),
        'page 2 was answered twice',
      ],
      ['no page of a turn is answered, instead of reading it as the end', (page) => (page === 3 ? EMPTY : of([page])), 'no elements'],
    ])('comes when %s', async (_what, fetch, message) => {
      await expect(readAll(pagedSource(fetch, { window: 4, concurrency: 2, together: () => 2 }))).rejects.toThrow(message);
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
