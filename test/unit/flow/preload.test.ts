import { describe, expect, test } from '@jest/globals';
import { Subject, defer, lastValueFrom, map, throwError, toArray } from 'rxjs';
import { mapRows, rows, pagedSource, preload, type Page } from '../../../src/flow/index.js';
import { countedFetch, leasedPages, listOf, pageOf } from '../../support/pages.js';

const keep = (kept: number[], { rows }: Page<number>): void => void kept.push(...rows);
const withKept = (kept: number[]) => mapRows((row: string) => `${row}:${kept.join(' ')}`);

describe('preload', () => {
  test('reads the other side to its end before the first page of the main side is requested', async () => {
    const asked: string[] = [];
    const noting = (side: string) => (pages: number) => {
      const list = countedFetch(listOf(pages), 'sync');
      return pagedSource((page) => defer(() => (asked.push(`${side}${page}`), list.fetch(page))), { window: 2, concurrency: 2 });
    };
    const other$ = noting('other')(5);
    const main$ = noting('main')(2).pipe(mapRows(String));
    const result = await lastValueFrom(
      main$.pipe(
        preload(other$, (): number[] => [], keep, withKept),
        rows(),
        toArray(),
      ),
    );
    expect(asked.findIndex((page) => page.startsWith('main'))).toBeGreaterThan(asked.lastIndexOf('other7'));
    expect(asked.slice(asked.indexOf('main1')).filter((page) => page.startsWith('other'))).toEqual([]);
    expect(result[0]).toBe('0:0 1 2 3 4 5 6 7 8 9');
  });

  test('releases every page of the other side as soon as it was added', () => {
    const other$ = new Subject<Page<number>>();
    const log: string[] = [];
    const add = (_kept: number[], { rows }: Page<number>): void => void log.push(`add ${rows.join(' ')}`);
    leasedPages([['a']])
      .pages$.pipe(preload(other$, (): number[] => [], add, withKept))
      .subscribe();
    other$.next(pageOf(1, [1, 2], () => void log.push('release 1')));
    other$.next(pageOf(2, [3], () => void log.push('release 2')));
    expect(log).toEqual(['add 1 2', 'release 1', 'add 3', 'release 2']);
  });

  test('runs the step with an empty collection when the other side has no page', async () => {
    const pages = await lastValueFrom(
      leasedPages([['a']]).pages$.pipe(
        preload(leasedPages<number>([]).pages$, (): number[] => [], keep, withKept),
        toArray(),
      ),
    );
    expect(pages.map(({ rows }) => rows)).toEqual([['a:']]);
  });

  test('collects anew for every subscription', async () => {
    const joined$ = leasedPages([['a']]).pages$.pipe(
      preload(leasedPages([[1]]).pages$, (): number[] => [], keep, withKept),
      map(({ rows }) => rows[0]),
    );
    expect(await lastValueFrom(joined$)).toBe('a:1');
    expect(await lastValueFrom(joined$)).toBe('a:1');
  });

  test('never touches the main side when the other side fails', async () => {
    let subscribed = false;
    const main$ = defer(() => {
      subscribed = true;
      return leasedPages([['a']]).pages$;
    });
    const broken$ = throwError(() => new Error('other side'));
    await expect(lastValueFrom(main$.pipe(preload(broken$, (): number[] => [], keep, withKept)))).rejects.toThrow('other side');
    expect(subscribed).toBe(false);
  });

  test('unsubscribes the other side when the subscriber leaves', () => {
    const other$ = new Subject<Page<number>>();
    const subscription = leasedPages([['a']])
      .pages$.pipe(preload(other$, (): number[] => [], keep, withKept))
      .subscribe();
    expect(other$.observed).toBe(true);
    subscription.unsubscribe();
    expect(other$.observed).toBe(false);
  });
});
