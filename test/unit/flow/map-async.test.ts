import type { Observable } from 'rxjs';
import { EMPTY, NEVER, lastValueFrom, map, mergeMap, of, throwError, timer, toArray } from 'rxjs';
import { StepError } from '../../../src/core/index.js';
import { mapAsync, type Page } from '../../../src/flow/index.js';
import { leasedPages, marbles, pageOf, turns } from '../../support/pages.js';
import { seeded } from '../../support/seeded.js';

const pages = { a: pageOf(1, ['x']), b: pageOf(2, ['y']), c: pageOf(3, ['z']) };
const show = map(({ number, rows }: Page<string>) => `${number}${rows.join('')}`);

/** Gives the rows back after the first page's 6, the second's 4 and the third's 2 frames. */
const laterForEarlier = (page: Page<string>) => timer(8 - 2 * page.number).pipe(map(() => page.rows));

describe('mapAsync', () => {
  test('works on at most `concurrency` pages at once', async () => {
    const random = seeded(11);
    let open = 0;
    let most = 0;
    const project = async ({ rows }: Page<number>): Promise<readonly number[]> => {
      open += 1;
      most = Math.max(most, open);
      await turns(1 + Math.floor(random() * 5));
      open -= 1;
      return rows;
    };
    const list = Array.from({ length: 60 }, (_, n) => [n]);
    const results = await lastValueFrom(leasedPages(list).pages$.pipe(mapAsync(project, 5), toArray()));
    expect(results.map(({ rows }) => rows)).toEqual(list);
    expect(most).toBe(5);
  });

  test('tells an error after the results of the pages before it', () => {
    marbles(({ cold, expectObservable }) => {
      const message = 'mapAsync: the function failed with a value of type string on page 2';
      const failure = new StepError('E_STEP_FUNCTION', message, { cause: 'two' });
      const project = (page: Page<string>) => (page.number === 2 ? throwError(() => 'two') : laterForEarlier(page));
      expectObservable(cold('(abc|)', pages).pipe(mapAsync(project, 3), show)).toBe('------(a#)', { a: '1x' }, failure);
    });
  });

  test('tells an error of the source after the results of the pages before it', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('(ab#)', pages).pipe(mapAsync(laterForEarlier, 2), show)).toBe('------(ab#)', { a: '1x', b: '2y' });
    });
  });

  test('fails when a page gets no result, instead of losing it and those behind it', async () => {
    const project = ({ number, rows }: Page<string>) => (number === 2 ? EMPTY : of(rows));
    await expect(lastValueFrom(leasedPages([['a'], ['b'], ['c']]).pages$.pipe(mapAsync(project, 2)))).rejects.toMatchObject({
      message: 'mapAsync: the function failed with EmptyError on page 2',
    });
  });

  test('aborts what is under way on unsubscribe', () => {
    const signals: AbortSignal[] = [];
    const project = (_page: Page<string>, signal: AbortSignal): Observable<readonly string[]> => {
      signals.push(signal);
      return NEVER;
    };
    const subscription = leasedPages([['a'], ['b'], ['c']])
      .pages$.pipe(mapAsync(project, 2))
      .subscribe();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
    subscription.unsubscribe();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  test('aborts what is under way when another page fails', async () => {
    const signals: AbortSignal[] = [];
    const project = ({ number }: Page<string>, signal: AbortSignal) => {
      signals.push(signal);
      return number === 1 ? timer(0).pipe(mergeMap(() => throwError(() => new Error('one')))) : NEVER;
    };
    const failing$ = leasedPages([['a'], ['b']]).pages$.pipe(mapAsync(({ number }, signal) => project(pageOf(number, ['x']), signal), 2));
    await expect(lastValueFrom(failing$)).rejects.toMatchObject({ cause: new Error('one') });
    expect(signals[1]?.aborted).toBe(true);
  });
});
