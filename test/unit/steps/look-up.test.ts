import { describe, expect, test } from '@jest/globals';
import { type Observable, defer, of, timer, map } from 'rxjs';
import type { Row } from '../../../src/core/index.js';
import type { Matching } from '../../../src/steps/join/build-side.js';
import { lookingUp } from '../../../src/steps/join/look-up.js';
import { pages, rowsThrough, through, watched } from './support.js';

const options: Matching = { on: { b: 'id' }, as: 'b', select: ['v'] };

/** Looks up in records by id. */
function lookupIn(find: (id: string) => Observable<readonly Row[]>, concurrency = 3) {
  const asked: string[] = [];
  const counts = { requests: 0, hits: 0, misses: 0 };
  return { asked, lookup: { find: (id: string) => defer(() => (asked.push(id), find(id))), concurrency, counts } };
}

describe('looking up', () => {
  test('keeps the order of pages and rows, whichever record comes first', async () => {
    const { lookup } = lookupIn((id) => timer(20 - Number(id)).pipe(map(() => [{ id, v: `v${id}` }])));
    const input = pages<Row>([{ b: '1' }, { b: '9' }], [{ b: '15' }], [], [{ b: '19' }, { b: '1' }]);
    const out = await through(lookingUp(lookup, options, watched()), input);
    expect(out.map(({ number, rows }) => [number, rows.map(({ b_v }) => b_v)])).toEqual([
      [1, ['v1', 'v9']],
      [2, ['v15']],
      [3, []],
      [4, ['v19', 'v1']],
    ]);
  });

  test('asks for an id once while its record is under way, and from then on while it is remembered', async () => {
    const { lookup, asked } = lookupIn((id) => timer(5).pipe(map(() => [{ id, v: 'x' }])));
    const same = Array.from({ length: 10 }, () => ({ b: '1' }));
    await through(lookingUp(lookup, options, watched()), pages<Row>(same, same, same));
    expect(asked).toEqual(['1']);
    expect(lookup.counts).toEqual({ requests: 1, hits: 29, misses: 0 });
  });

  test('remembers 10,000 ids, those that were wanted last', async () => {
    const { lookup, asked } = lookupIn((id) => of([{ id, v: 'x' }]));
    const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => ({ b: String(from + n) }));
    await through(lookingUp(lookup, options, watched()), pages<Row>(ids(0, 10_000), ids(0, 1), ids(10_000, 10_001), ids(0, 2)));
    expect(asked.slice(10_000)).toEqual(['10000', '1']);
  });

  test('never sends what no path can have', async () => {
    const { lookup, asked } = lookupIn((id) => of([{ id, v: 'x' }]));
    const out = await rowsThrough<Row, Row>(lookingUp(lookup, options, watched()), [
      { b: '' },
      { b: '.' },
      { b: '..' },
      { b: '\ud83d' },
      { b: null },
    ]);
    expect([asked, out.map(({ b_v }) => b_v)]).toEqual([[], [null, null, null, null, null]]);
  });

  test('takes a record whose id is written otherwise for no match, and another record for an answer to something else', async () => {
    const other = (id: string) => lookupIn(() => of([{ id, v: 'x' }])).lookup;
    expect(await rowsThrough<Row, Row>(lookingUp(other('A'), options, watched()), [{ b: 'a' }])).toEqual([{ b: 'a', b_v: null }]);
    await expect(rowsThrough<Row, Row>(lookingUp(other('b'), options, watched('steps[0] join')), [{ b: 'a' }])).rejects.toMatchObject({
      code: 'E_SOURCE_ANSWER',
      message: 'steps[0] join: the service was asked for a single record and returned others; use lookup: preload',
    });
  });
});
