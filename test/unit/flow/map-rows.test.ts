import { map, take } from 'rxjs';
import { StepError } from '../../../src/core/index.js';
import { mapRows, rows, type Page } from '../../../src/flow/index.js';
import { leasedPages, marbles, pageOf } from '../../support/pages.js';

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
