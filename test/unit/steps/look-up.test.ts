import { type Observable, defer, of } from 'rxjs';
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
  test('remembers 10,000 ids, those that were wanted last', async () => {
    const { lookup, asked } = lookupIn((id) => of([{ id, v: 'x' }]));
    const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => ({ b: String(from + n) }));
    await through(lookingUp(lookup, options, watched()), pages<Row>(ids(0, 10_000), ids(0, 1), ids(10_000, 10_001), ids(0, 2)));
    expect(asked.slice(10_000)).toEqual(['10000', '1']);
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
