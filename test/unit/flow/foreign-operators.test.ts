import { describe, expect, test } from '@jest/globals';
import * as rxjs from 'rxjs';
import { NEVER, asapScheduler, count, lastValueFrom, of, pipe, timer, type Observable, type OperatorFunction } from 'rxjs';
import { deliver, fromPages, mapAsync, pagedSource, type Page } from '../../../src/flow/index.js';
import { turns } from '../../support/pages.js';

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

type Foreign = OperatorFunction<unknown, unknown>;
/** How many values come out of so many: exactly, at least one, or any number by the clock; or that the stream ends with an error. */
type Expected = ((values: number) => number) | 'fails' | 'some' | 'any';

const all: Expected = (values) => values;
const none: Expected = () => 0;
const one: Expected = () => 1;
const soon$ = () => timer(0);
const each = rxjs.map((value: unknown) => of(value));

/** Every operator of RxJS, with arguments under which what comes out is known. */
const operators: Readonly<Record<string, readonly [Foreign, Expected]>> = {
  audit: [rxjs.audit(soon$), 'some'],
  auditTime: [rxjs.auditTime(1), 'some'],
  buffer: [rxjs.buffer(soon$()), 'some'],
  bufferCount: [rxjs.bufferCount(4), (values) => Math.ceil(values / 4)],
  bufferTime: [rxjs.bufferTime(1), 'some'],
  bufferToggle: [rxjs.bufferToggle(of(1), () => NEVER), one],
  bufferWhen: [rxjs.bufferWhen(soon$), 'some'],
  catchError: [rxjs.catchError(() => NEVER), all],
  combineLatestAll: [pipe(each, rxjs.combineLatestAll()), one],
  combineLatestWith: [rxjs.combineLatestWith(of(1)), all],
  concatAll: [pipe(each, rxjs.concatAll()), all],
  concatMap: [rxjs.concatMap((value) => turns(1).then(() => value)), all],
  concatWith: [rxjs.concatWith(of(1)), (values) => values + 1],
  connect: [rxjs.connect((shared$) => rxjs.merge(shared$, shared$)), (values) => 2 * values],
  count: [rxjs.count(), one],
  debounce: [rxjs.debounce(soon$), 'some'],
  debounceTime: [rxjs.debounceTime(1), 'some'],
  defaultIfEmpty: [rxjs.defaultIfEmpty(0), all],
  delay: [rxjs.delay(1), all],
  delayWhen: [rxjs.delayWhen(soon$), all],
  dematerialize: [pipe(rxjs.materialize(), rxjs.dematerialize()), all],
  distinct: [rxjs.distinct(), all],
  distinctUntilChanged: [rxjs.distinctUntilChanged(), all],
  distinctUntilKeyChanged: [rxjs.distinctUntilKeyChanged('number' as never), 'some'],
  elementAt: [rxjs.elementAt(7), one],
  endWith: [rxjs.endWith(1), (values) => values + 1],
  every: [rxjs.every(() => true), one],
  exhaustAll: [pipe(each, rxjs.exhaustAll()), all],
  exhaustMap: [rxjs.exhaustMap(soon$), 'some'],
  expand: [rxjs.expand((_, index) => (index < 5 ? of(index) : rxjs.EMPTY)), 'some'],
  filter: [rxjs.filter(() => false), none],
  finalize: [rxjs.finalize(() => undefined), all],
  find: [rxjs.find((_, index) => index === 7), one],
  findIndex: [rxjs.findIndex((_, index) => index === 7), one],
  first: [rxjs.first(), one],
  groupBy: [
    pipe(
      rxjs.groupBy((value) => value),
      rxjs.mergeAll(),
    ),
    all,
  ],
  ignoreElements: [rxjs.ignoreElements(), none],
  isEmpty: [rxjs.isEmpty(), one],
  last: [rxjs.last(), one],
  map: [rxjs.map(() => 1), all],
  materialize: [rxjs.materialize(), (values) => values + 1],
  max: [rxjs.max(() => 1), one],
  mergeAll: [pipe(each, rxjs.mergeAll(2)), all],
  mergeMap: [rxjs.mergeMap((value) => turns(2).then(() => value), 2), all],
  mergeScan: [rxjs.mergeScan((sum: number) => of(sum + 1), 0), all],
  mergeWith: [rxjs.mergeWith(of(1)), (values) => values + 1],
  min: [rxjs.min(() => 1), one],
  observeOn: [rxjs.observeOn(asapScheduler), all],
  onErrorResumeNextWith: [rxjs.onErrorResumeNextWith(of(1)), (values) => values + 1],
  pairwise: [rxjs.pairwise(), (values) => values - 1],
  raceWith: [rxjs.raceWith(NEVER), all],
  reduce: [rxjs.reduce((sum: number) => sum + 1, 0), one],
  repeat: [rxjs.repeat(2), (values) => 2 * values],
  'repeat, later': [rxjs.repeat({ count: 2, delay: soon$ }), (values) => 2 * values],
  retry: [rxjs.retry(2), all],
  sample: [rxjs.sample(NEVER), none],
  sampleTime: [rxjs.sampleTime(1), 'any'],
  scan: [rxjs.scan((sum: number) => sum + 1, 0), all],
  sequenceEqual: [rxjs.sequenceEqual<unknown>(of(1)), one],
  share: [rxjs.share(), all],
  shareReplay: [rxjs.shareReplay(3), all],
  single: [rxjs.single(), 'fails'],
  skip: [rxjs.skip(5), (values) => values - 5],
  skipLast: [rxjs.skipLast(5), (values) => values - 5],
  skipUntil: [rxjs.skipUntil(of(1)), all],
  skipWhile: [rxjs.skipWhile((_, index) => index < 5), (values) => values - 5],
  startWith: [rxjs.startWith(1), (values) => values + 1],
  subscribeOn: [rxjs.subscribeOn(asapScheduler), all],
  switchAll: [pipe(each, rxjs.switchAll()), all],
  switchMap: [rxjs.switchMap(soon$), 'some'],
  switchScan: [rxjs.switchScan((sum: number) => of(sum + 1), 0), all],
  take: [rxjs.take(3), () => 3],
  takeLast: [rxjs.takeLast(3), () => 3],
  takeUntil: [rxjs.takeUntil(timer(60_000)), all],
  takeWhile: [rxjs.takeWhile((_, index) => index < 3), () => 3],
  tap: [rxjs.tap(() => undefined), all],
  throttle: [rxjs.throttle(soon$), 'some'],
  throttleTime: [rxjs.throttleTime(1), 'some'],
  throwIfEmpty: [rxjs.throwIfEmpty(), all],
  timeInterval: [rxjs.timeInterval(), all],
  timeout: [rxjs.timeout(60_000), all],
  'timeout, with another': [rxjs.timeout({ each: 60_000, with: () => NEVER }), all],
  timestamp: [rxjs.timestamp(), all],
  toArray: [rxjs.toArray(), one],
  window: [pipe(rxjs.window(soon$()), rxjs.mergeAll()), all],
  windowCount: [pipe(rxjs.windowCount(4), rxjs.mergeAll()), all],
  windowTime: [pipe(rxjs.windowTime(1), rxjs.mergeAll()), all],
  windowToggle: [
    pipe(
      rxjs.windowToggle(of(1), () => NEVER),
      rxjs.mergeAll(),
    ),
    all,
  ],
  windowWhen: [
    pipe(
      rxjs.windowWhen(() => timer(1)),
      rxjs.mergeAll(),
    ),
    all,
  ],
  withLatestFrom: [rxjs.withLatestFrom(of(1)), all],
  zipAll: [pipe(each, rxjs.zipAll()), one],
  zipWith: [rxjs.zipWith(rxjs.range(0, 1_000)), all],
};

/** Deprecated names of what is in the table, and what takes no single observable. */
const others = new Set([
  ...['combineAll', 'combineLatest', 'concat', 'exhaust', 'flatMap', 'merge', 'onErrorResumeNext', 'race', 'zip'],
  ...['concatMapTo', 'mapTo', 'mergeMapTo', 'switchMapTo', 'pluck', 'repeatWhen', 'retryWhen', 'timeoutWith'],
  ...['multicast', 'publish', 'publishBehavior', 'publishLast', 'publishReplay', 'refCount', 'partition'],
]);

test('the table has every operator', async () => {
  const exported = Object.entries(await import('rxjs/operators')).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []));
  expect(exported.filter((name) => !Object.hasOwn(operators, name) && !others.has(name))).toEqual([]);
});

async function outcome(stream$: Observable<unknown>): Promise<number | 'fails'> {
  return lastValueFrom(stream$.pipe(count())).catch(() => 'fails' as const);
}

const table = Object.entries(operators).map(([name, [operator, expected]]) => [name, operator, expected] as const);

function check(found: number | 'fails', expected: Expected, values: number): void {
  if (typeof expected === 'function') expect(found).toBe(expected(values));
  else if (expected === 'fails') expect(found).toBe('fails');
  else expect(found).toBeGreaterThanOrEqual(expected === 'some' ? 1 : 0);
}

describe('a list comes to its end through', () => {
  test.each(table)('%s, page by page', async (_name, operator, expected) => {
    check(await outcome(fromPages(list$()).pages$.pipe(operator)), expected, pages);
  });

  test.each(table)('%s, row by row', async (_name, operator, expected) => {
    check(await outcome(fromPages(list$()).rows$.pipe(operator)), expected, pages * perPage);
  });

  const queueing = ['bufferCount', 'concatMap', 'delay', 'mergeMap', 'observeOn', 'share'];
  test.each(table.filter(([name]) => queueing.includes(name)))(
    '%s, behind pages that were worked on',
    async (_name, operator, expected) => {
      const worked$ = list$().pipe(mapAsync(async ({ rows }) => rows, 2));
      check(await outcome(worked$.pipe(operator)), expected, pages);
    },
  );
});

test('a writer of ours bounds the source, a queue of RxJS before it costs the bound, and no row', async () => {
  let ahead = 0;
  let asked = 0;
  const counted$ = pagedSource(
    (page) => {
      asked = Math.max(asked, page);
      return of(page > pages ? [] : [page]);
    },
    { window: 4, concurrency: 1 },
  );
  const seen: number[] = [];
  const slow = async ({ number, rows }: Page<number>) => {
    await turns(5);
    ahead = Math.max(ahead, asked - number);
    seen.push(...rows);
  };
  await lastValueFrom(counted$.pipe(deliver(slow)));
  expect(ahead).toBeLessThanOrEqual(4);
  await lastValueFrom(counted$.pipe(rxjs.observeOn(asapScheduler), deliver(slow)));
  expect(ahead).toBeGreaterThan(4);
  expect(seen).toEqual([...Array(2)].flatMap(() => Array.from({ length: pages }, (_, page) => page + 1)));
});
