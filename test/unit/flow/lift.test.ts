import { describe, expect, test } from '@jest/globals';
import { delay, distinct, map, take, takeLast } from 'rxjs';
import { StepError } from '../../../src/core/index.js';
import { liftRows, mapRows, rows, type Page } from '../../../src/flow/index.js';
import { leasedPages, marbles, pageOf, shown } from '../../support/pages.js';

const pages = { a: pageOf(1, [1, 2]), b: pageOf(2, [2, 3]), c: pageOf(3, [3, 4]) };
/** What a function that throws `'three'` for the second row of page 2 comes to. */
const failure = (who: string) =>
  new StepError('E_STEP_FUNCTION', `${who}: the function threw a value of type string for row 2 of page 2`, { cause: 'three' });
const show = map((page: Page<number>) => page.rows.join(' '));

describe('mapRows', () => {
  test('applies the function to every row and keeps pages, order and timing', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(
        cold('a-b|', pages).pipe(
          mapRows((n) => n * 10),
          show,
        ),
      ).toBe('x-y|', { x: '10 20', y: '20 30' });
    });
  });

  test('ends the stream with the row for which the function throws', () => {
    marbles(({ cold, expectObservable }) => {
      const refuse = (n: number): number => {
        if (n === 3) throw 'three';
        return n;
      };
      expectObservable(cold('a-b-c|', pages).pipe(mapRows(refuse), show)).toBe('a-#', { a: '1 2' }, failure('mapRows'));
    });
  });
});

describe('liftRows', () => {
  test('gives the operator one subscription over all pages, so that its memory spans them', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('a-b-c|', pages).pipe(liftRows(distinct()), show)).toBe('a-b-c|', { a: '1 2', b: '3', c: '4' });
    });
  });

  test('sends what the operator emits at the end in one more page, numbered after the last', () => {
    const seen: Page<number>[] = [];
    leasedPages([
      [1, 2],
      [3, 4],
    ])
      .pages$.pipe(liftRows(takeLast(3)))
      .subscribe((page) => seen.push(page));
    expect(seen.map(shown)).toEqual([
      { number: 1, rows: [] },
      { number: 2, rows: [] },
      { number: 3, rows: [2, 3, 4] },
    ]);
  });

  test('ends behind the page in which the operator has enough, and leaves the source', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('a-b-c|', pages);
      expectObservable(source.pipe(liftRows(take(3)), show)).toBe('a-(b|)', { a: '1 2', b: '2' });
      expectSubscriptions(source.subscriptions).toBe('^-!');
    });
  });

  test('sends rows that come after their page with the next, and waits for those after the last', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('a--b|', pages).pipe(liftRows(delay(2)), show)).toBe('a--b-(c|)', { a: '', b: '1 2', c: '2 3' });
    });
  });

  test('ends the stream and the source with the error of the operator', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('a-b-c|', pages);
      const refuse = map((n: number) => {
        if (n === 3) throw 'three';
        return n;
      });
      expectObservable(source.pipe(liftRows(refuse), show)).toBe('a-#', { a: '1 2' }, failure('liftRows'));
      expectSubscriptions(source.subscriptions).toBe('^-!');
    });
  });
});

describe('rows', () => {
  test('releases a page after its last row', () => {
    const { pages$, released } = leasedPages([['a', 'b'], ['c']]);
    const log: string[] = [];
    pages$.pipe(rows()).subscribe((row) => log.push(`${row} after ${released.length} releases`));
    expect(log).toEqual(['a after 0 releases', 'b after 0 releases', 'c after 1 releases']);
    expect(released).toEqual([1, 2]);
  });

  test('stops in the middle of a page when the subscriber has enough', () => {
    const taken: number[] = [];
    const touched: number[] = [];
    const { pages$, released } = leasedPages([[1, 2, 3], [4]]);
    pages$
      .pipe(
        mapRows((n) => n),
        rows(),
        map((n) => (touched.push(n), n)),
        take(2),
      )
      .subscribe((n) => taken.push(n));
    expect(taken).toEqual([1, 2]);
    expect(touched).toEqual([1, 2]);
    expect(released).toEqual([]);
  });
});
