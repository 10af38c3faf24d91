import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { lastValueFrom, toArray } from 'rxjs';
import { fromPages } from '../../../src/flow/index.js';
import { countedFetch, listOf, pagedSource, turns } from '../../support/pages.js';

setFlagsFromString('--expose-gc');
const all = listOf(5)(1).concat(...[2, 3, 4, 5].map(listOf(5)));

/** A list of five pages of two rows, with a window of two, that is kept for some time. */
function cached(maxAgeMs = Infinity, by: Parameters<typeof countedFetch>[1] = () => 1) {
  const fetch = countedFetch(listOf(5), by);
  const stream = fromPages(pagedSource(fetch.fetch, { window: 2, concurrency: 1 })).cached({ maxAgeMs });
  return { ...fetch, stream, read: () => lastValueFrom(stream.rows$.pipe(toArray())) };
}

describe('a cached stream', () => {
  test('is read once for those who want it at the same time, and for those who come later', async () => {
    const { asked, read } = cached();
    const [one, other] = [read(), read()];
    await turns(4);
    expect(await Promise.all([one, other, read()])).toEqual([all, all, all]);
    const once = [...asked];
    expect(await read()).toEqual(all);
    expect(asked).toEqual(once);
    expect(asked.filter((page) => page === 1)).toHaveLength(1);
  });

  test('is read again when it is too old', async () => {
    const { asked, read } = cached(1);
    await read();
    await setTimeout(5);
    expect(await read()).toEqual(all);
    expect(asked.filter((page) => page === 1)).toHaveLength(2);
  });

  test('keeps no error, and tells it to all who wait', async () => {
    const { fail, asked, read } = cached(Infinity, 'hand');
    const outcomes = Promise.allSettled([read(), read()]);
    await turns();
    fail(1, new Error('gone'));
    expect(await outcomes).toMatchObject([{ reason: { message: 'gone' } }, { reason: { message: 'gone' } }]);
    const again = read().catch(() => undefined);
    await turns();
    expect(asked).toEqual([1, 1]);
    fail(1, new Error('gone again'));
    await again;
  });

  test('is left with its last subscriber, goes on for those who stay, and leaves nothing behind', async () => {
    const { aborted, inFlight, stream } = cached(Infinity, 'hand');
    const [one, other] = [stream.rows$.subscribe(), stream.rows$.subscribe()];
    await turns();
    one.unsubscribe();
    expect([inFlight(), aborted]).toEqual([1, []]);
    other.unsubscribe();
    expect([inFlight(), aborted]).toEqual([0, [1]]);
    stream.rows$.subscribe().unsubscribe();
    await turns();
    expect(inFlight()).toBe(0);
  });
});
