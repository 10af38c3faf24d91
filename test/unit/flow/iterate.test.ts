import { text } from 'node:stream/consumers';
import { NEVER, concat, finalize, throwError } from 'rxjs';
import { fromPages } from '../../../src/flow/index.js';
import { countedFetch, leasedPages, pagedSource, turns } from '../../support/pages.js';

/** Ten rows on each of so many pages, with a window of four. */
function list(pages: number) {
  const fetch = countedFetch(
    (page) => (page > pages ? [] : Array.from({ length: 10 }, (_, row) => (page - 1) * 10 + row)),
    () => 1,
  );
  return { ...fetch, pages$: pagedSource(fetch.fetch, { window: 4, concurrency: 2 }) };
}

describe('a loop over a row stream', () => {
  test('leaves the source when the loop is left, and releases what is asked for no more', async () => {
    const { asked, inFlight, pages$ } = list(30);
    for await (const row of fromPages(pages$)) if (row === 25) break;
    expect(inFlight()).toBe(0);
    const before = asked.length;
    await turns(20);
    expect(asked).toHaveLength(before);
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
});

describe('toReadable', () => {
  test('gives lines of JSON, whole numbers with all their digits', async () => {
    const rows$ = leasedPages([[{ a: 'é\n', b: null }], [], [{ a: 2n, b: 2n ** 60n, c: undefined }]]).pages$;
    expect(await text(fromPages(rows$).toReadable('ndjson'))).toBe(`{"a":"é\\n","b":null}\n{"a":2,"b":${2n ** 60n}}\n`);
  });

  test.each<[string, unknown]>([
    ['page 2: row 1 is undefined', undefined],
    ['page 2: row 1, f is a function', { f: () => 1 }],
    ['page 2: row 1, f[0] is a symbol', { f: [Symbol('s')] }],
    ['page 2: row 1, f is NaN', { f: Number.NaN }],
    ['page 2: row 1, f is an object', { f: new Map([[1, 2]]) }],
  ])('refuses what is no JSON and ends the read: %s', async (message, row) => {
    const left = { times: 0 };
    const pages$ = concat(leasedPages<unknown>([[{ a: 1 }], [row]]).pages$, NEVER).pipe(finalize(() => (left.times += 1)));
    await expect(text(fromPages(pages$).toReadable('ndjson'))).rejects.toMatchObject({
      code: 'E_STEP_VALUE',
      message: expect.stringContaining(message),
    });
    expect(left.times).toBe(1);
  });
});
