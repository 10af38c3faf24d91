import { describe, expect, test } from '@jest/globals';
import { Subject, defer, lastValueFrom, throwError, toArray } from 'rxjs';
import { mapRows, rows, pagedSource, preload, type Page } from '../../../src/flow/index.js';
import { countedFetch, leasedPages, listOf, pageOf } from '../../support/pages.js';

const keep = (kept: number[], { rows }: Page<number>): void => void kept.push(...rows);
const withKept = (kept: number[]) => mapRows((row: string) => `${row}:${kept.join(' ')}`);

describe('preload', () => {
  test('reads the other side to its end while a window of the main side is on its way', async () => {
    const asked: string[] = [];
    const noting = (side: string) => (pages: number) => {
      const list = countedFetch(listOf(pages), () => 1);
      return pagedSource((page) => defer(() => (asked.push(`${side}${page}`), list.fetch(page))), { window: 2, concurrency: 2 });
    };
    const other$ = noting('other')(5);
    const main$ = noting('main')(6).pipe(mapRows(String));
    const result = await lastValueFrom(
      main$.pipe(
        preload(other$, (): number[] => [], keep, withKept),
        rows(),
        toArray(),
      ),
    );
    const before = asked.slice(0, asked.lastIndexOf('other7'));
    expect(before.filter((page) => page.startsWith('main'))).toEqual(['main1', 'main2']);
    expect(result).toEqual(Array.from({ length: 12 }, (_, row) => `${row}:0 1 2 3 4 5 6 7 8 9`));
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

  test('leaves the main side when the other side fails', async () => {
    const main$ = new Subject<Page<string>>();
    const other$ = new Subject<Page<number>>();
    const joined = lastValueFrom(main$.pipe(preload(other$, (): number[] => [], keep, withKept)));
    main$.next(pageOf(1, ['a'], () => undefined));
    other$.error(new Error('other side'));
    await expect(joined).rejects.toThrow('other side');
    expect(main$.observed).toBe(false);
  });

  test('fails with the main side while the other side is read', async () => {
    const other$ = new Subject<Page<number>>();
    const broken$ = throwError(() => new Error('main side'));
    await expect(lastValueFrom(broken$.pipe(preload(other$, (): number[] => [], keep, withKept)))).rejects.toThrow('main side');
    expect(other$.observed).toBe(false);
  });
});
