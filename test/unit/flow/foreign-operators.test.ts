import * as rxjs from 'rxjs';
import { count, lastValueFrom, pipe, timer, type Observable, type OperatorFunction } from 'rxjs';
import { fromPages, mapAsync, type Page } from '../../../src/flow/index.js';
import { pagedSource, turns } from '../../support/pages.js';

const pages = 30;
const perPage = 3;

/** Ninety rows on thirty pages, with a window of four pages. */
const list$ = (): Observable<Page<number>> =>
  pagedSource(
    (page) =>
      rxjs.defer(async () => {
        await turns(1);
        return page > pages ? [] : Array.from({ length: perPage }, (_, row) => (page - 1) * perPage + row);
      }),
    { window: 4, concurrency: 2 },
  );

/** Operators of RxJS that queue, wait, repeat or leave, and how many values each makes of so many. */
const operators: Readonly<Record<string, readonly [OperatorFunction<unknown, unknown>, (values: number) => number]>> = {
  bufferCount: [rxjs.bufferCount(4), (values) => Math.ceil(values / 4)],
  concatMap: [rxjs.concatMap((value) => turns(1).then(() => value)), (values) => values],
  connect: [rxjs.connect((shared$) => rxjs.merge(shared$, shared$)), (values) => 2 * values],
  delay: [rxjs.delay(1), (values) => values],
  mergeMap: [rxjs.mergeMap((value) => turns(2).then(() => value), 2), (values) => values],
  repeat: [rxjs.repeat({ count: 2, delay: () => timer(0) }), (values) => 2 * values],
  share: [rxjs.share(), (values) => values],
  take: [rxjs.take(3), () => 3],
  takeLast: [rxjs.takeLast(3), () => 3],
  windowCount: [pipe(rxjs.windowCount(4), rxjs.mergeAll()), (values) => values],
};

describe.each(Object.entries(operators))('a list comes to its end through %s', (_name, [operator, made]) => {
  test('page by page, row by row, and behind pages that were worked on', async () => {
    const { pages$, rows$ } = fromPages(list$());
    const worked$ = list$().pipe(mapAsync(async ({ rows }) => rows, 2));
    expect(await lastValueFrom(pages$.pipe(operator, count()))).toBe(made(pages));
    expect(await lastValueFrom(rows$.pipe(operator, count()))).toBe(made(pages * perPage));
    expect(await lastValueFrom(worked$.pipe(operator, count()))).toBe(made(pages));
  });
});
