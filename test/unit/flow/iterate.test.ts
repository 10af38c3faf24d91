import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { NEVER, concat, finalize, from, throwError, type Observable } from 'rxjs';
import { fromPages, pagedSource, type Page, type RowStream } from '../../../src/flow/index.js';
import { countedFetch, leasedPages, listOf, turns } from '../../support/pages.js';

/** Ten rows on each of so many pages, with a window of four. */
function list(pages: number) {
  const fetch = countedFetch(
    (page) => (page > pages ? [] : Array.from({ length: 10 }, (_, row) => (page - 1) * 10 + row)),
    () => 1,
  );
  return { ...fetch, pages$: pagedSource(fetch.fetch, { window: 4, concurrency: 2 }) };
}

async function all<T>(rows: AsyncIterable<T>): Promise<readonly T[]> {
  const seen: T[] = [];
  for await (const row of rows) seen.push(row);
  return seen;
}

const numbers = (count: number) => Array.from({ length: count }, (_, row) => row);

describe('a loop over a row stream', () => {
  test('gives every row once, in order', async () => {
    expect(await all(fromPages(list(30).pages$))).toEqual(numbers(300));
  });

  test('is never further ahead than the window of the source, however slow the loop is', async () => {
    const { asked, pages$ } = list(30);
    let row = 0;
    for await (const _ of fromPages(pages$)) {
      row += 1;
      if (row % 10 === 5) await turns(10);
      expect(Math.max(...asked)).toBeLessThanOrEqual(Math.max(4, Math.ceil(row / 10) + 3));
      if (row === 250) break;
    }
  });

  test('leaves the source when the loop is left, and releases what is asked for no more', async () => {
    const { asked, inFlight, pages$ } = list(30);
    for await (const row of fromPages(pages$)) if (row === 25) break;
    expect(inFlight()).toBe(0);
    const before = asked.length;
    await turns(20);
    expect(asked).toHaveLength(before);
  });

  test('asks for nothing before the first row is asked for', async () => {
    const { asked, pages$ } = list(3);
    const rows = fromPages(pages$)[Symbol.asyncIterator]();
    await turns(5);
    expect(asked).toEqual([]);
    await rows.return?.();
    expect(asked).toEqual([]);
  });

  test('tells an error behind the rows before it', async () => {
    const { pages$ } = leasedPages([[1, 2], [3]]);
    const seen: number[] = [];
    const read = async () => {
      for await (const row of fromPages(
        concat(
          pages$,
          throwError(() => new Error('gone')),
        ),
      ))
        seen.push(row);
    };
    await expect(read()).rejects.toThrow('gone');
    expect(seen).toEqual([1, 2, 3]);
  });

  test('gives what any source gives, whatever pages are empty, and releases all of them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.integer(), { maxLength: 4 }), { maxLength: 8 }), async (rows) => {
        const { pages$, released } = leasedPages(rows);
        expect(await all(fromPages(pages$))).toEqual(rows.flat());
        expect(released).toEqual(rows.map((_, index) => index + 1));
      }),
    );
  });
});

describe('toReadable', () => {
  test('gives rows as objects, to a slow writer at its pace', async () => {
    const { asked, pages$ } = list(30);
    const seen: unknown[] = [];
    let ahead = 0;
    const slow = new Writable({
      objectMode: true,
      highWaterMark: 1,
      write: (row, _encoding, done) => {
        seen.push(row);
        ahead = Math.max(ahead, Math.max(...asked) - Math.ceil(seen.length / 10));
        void setImmediate().then(() => done());
      },
    });
    await pipeline(fromPages(pages$).toReadable(), slow);
    expect(seen).toEqual(numbers(300));
    // The window, what the two streams buffer, and the end, for which one looks behind it.
    expect(ahead).toBeLessThanOrEqual(8);
  });

  test('gives lines of JSON, whole numbers with all their digits', async () => {
    const rows$ = leasedPages([[{ a: 'é\n', b: null }], [], [{ a: 2n, b: 2n ** 60n, c: undefined }]]).pages$;
    expect(await text(fromPages(rows$).toReadable('ndjson'))).toBe(`{"a":"é\\n","b":null}\n{"a":2,"b":${2n ** 60n}}\n`);
  });

  test('gives nested whole numbers, dates and rows that are no objects as JSON has them', async () => {
    const day = new Date(0);
    const rows$ = leasedPages<unknown>([[{ a: [2n ** 60n, { b: 1n, c: undefined, d: day }] }, day, 7, null]]).pages$;
    const lines = [`{"a":[${2n ** 60n},{"b":1,"d":"1970-01-01T00:00:00.000Z"}]}`, '"1970-01-01T00:00:00.000Z"', '7', 'null'];
    expect(await text(fromPages(rows$).toReadable('ndjson'))).toBe(`${lines.join('\n')}\n`);
  });

  test.each<[string, unknown]>([
    ['page 2: row 1: JSON has no undefined', undefined],
    ['page 2: row 1, f: JSON has no function', { f: () => 1 }],
    ['page 2: row 1, f[0]: JSON has no symbol', { f: [Symbol('s')] }],
    ['page 2: row 1, f: JSON has no NaN', { f: Number.NaN }],
    ['page 2: row 1, f: JSON has no Map', { f: new Map([[1, 2]]) }],
  ])('refuses what is no JSON and ends the read: %s', async (message, row) => {
    const take = async (as: 'toReadable' | 'toWeb') => {
      const left = { times: 0 };
      const pages$ = concat(leasedPages<unknown>([[{ a: 1 }], [row]]).pages$, NEVER).pipe(finalize(() => (left.times += 1)));
      await expect(text(fromPages(pages$)[as]('ndjson'))).rejects.toMatchObject({
        code: 'E_STEP_VALUE',
        message: expect.stringContaining(message),
      });
      expect(left.times).toBe(1);
    };
    await take('toReadable');
    await take('toWeb');
  });

  test.each(['objects', 'ndjson'] as const)('leaves the source when it is destroyed, as %s', async (format) => {
    const { asked, inFlight, pages$ } = list(30);
    const stream = fromPages(pages$).toReadable(format);
    await once(stream, 'readable');
    stream.read();
    stream.destroy();
    await once(stream, 'close');
    await turns(5);
    expect(inFlight()).toBe(0);
    const before = asked.length;
    await turns(20);
    expect(asked).toHaveLength(before);
  });

  test('is a stream of the web too, which leaves the source when it is cancelled', async () => {
    const { inFlight, pages$ } = list(30);
    const reader = fromPages(pages$).toWeb().getReader();
    expect(await reader.read()).toEqual({ done: false, value: 0 });
    await reader.cancel();
    await turns(5);
    expect(inFlight()).toBe(0);
  });

  test('fails with the source', async () => {
    const broken$: Observable<Page<number>> = concat(
      from(leasedPages([[1]]).pages),
      throwError(() => new Error('gone')),
    );
    await expect(text(fromPages(broken$).toReadable('ndjson'))).rejects.toThrow('gone');
  });
});

test.each<[string, (rows: RowStream<number>) => () => unknown]>([
  [
    'a loop that is left from outside',
    (rows) => {
      const iterator = rows[Symbol.asyncIterator]();
      void iterator.next();
      return () => iterator.return?.();
    },
  ],
  [
    'a stream of Node that is destroyed',
    (rows) => {
      const stream = rows.toReadable('ndjson').resume();
      return () => stream.destroy();
    },
  ],
  [
    'a stream of the web that is cancelled',
    (rows) => {
      const reader = rows.toWeb('ndjson').getReader();
      void reader.read();
      return () => reader.cancel();
    },
  ],
])('%s ends a request that hangs, at once', async (_what, take) => {
  const { fetch, aborted, inFlight } = countedFetch(listOf(3), 'hand');
  const leave = take(fromPages(pagedSource(fetch, { window: 2, concurrency: 2 })));
  await turns(5);
  expect(inFlight()).toBe(2);
  await leave();
  await turns(5);
  expect([inFlight(), aborted.toSorted((a, b) => a - b)]).toEqual([0, [1, 2]]);
});

test('a list of one page is no other case', async () => {
  const fetch = countedFetch(listOf(1), 'sync');
  expect(await all(fromPages(pagedSource(fetch.fetch)))).toEqual(listOf(1)(1));
});
