import { describe, expect, test } from '@jest/globals';
import { Subject, concatMap, delay, finalize, map, of, tap, timer } from 'rxjs';
import { untilReleased } from '../../../src/flow/lease.js';
import type { Page } from '../../../src/flow/index.js';
import { marbles, pageOf } from '../../support/pages.js';

const numbers = map((page: Page<string>) => page.number);
const pages = { a: pageOf(1, ['x']), b: pageOf(2, ['y']) };

describe('untilReleased', () => {
  test('holds an error until every page before it was released', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('a-b-#', pages).pipe(
        untilReleased('the list'),
        tap((page) => timer(page.number * 5).subscribe(() => page.lease.release())),
        numbers,
      );
      expectObservable(source$).toBe('a-b---------#', { a: 1, b: 2 });
    });
  });

  test('keeps the pages in the buffer of a slow operator from being dropped by the error', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('(ab#)', pages).pipe(
        untilReleased('the list'),
        concatMap((page) =>
          of(page.number).pipe(
            delay(4),
            finalize(() => page.lease.release()),
          ),
        ),
      );
      expectObservable(source$).toBe('----a---(b#)', { a: 1, b: 2 });
    });
  });

  test('counts a page that is released twice once', () => {
    const source$ = new Subject<Page<string>>();
    const seen: Page<string>[] = [];
    let failure: unknown;
    source$.pipe(untilReleased('the list')).subscribe({ next: (page) => seen.push(page), error: (error: unknown) => (failure = error) });
    source$.next(pages.a);
    source$.next(pages.b);
    source$.error('broken');
    seen[0]?.lease.release();
    seen[0]?.lease.release();
    expect(failure).toBeUndefined();
    seen[1]?.lease.release();
    expect(failure).toBe('broken');
  });
});
