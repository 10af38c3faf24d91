import { Observable, defer, lastValueFrom, of, toArray } from 'rxjs';
import { rows } from '../../../src/flow/index.js';
import { limit } from '../../../src/steps/index.js';
import { pages, through } from './support.js';
import { pagedSource } from '../../support/pages.js';

const row = (id: number) => ({ id: String(id) });
const counted = (count: number, first = 1) => Array.from({ length: count }, (_, index) => row(first + index));

test('lets all rows of a shorter list pass, and begins anew with every subscription', async () => {
  const step = limit<{ id: string }>(4);
  for (let time = 0; time < 2; time += 1) {
    const out = await through(step, pages(counted(2), [], counted(1, 3)));
    expect(out.flatMap((each) => each.rows)).toEqual(counted(3));
  }
});

test('leaves the source, which aborts its requests in flight and asks for no more', async () => {
  const asked: number[] = [];
  let aborted = 0;
  const fetch = (number: number) =>
    defer(() => {
      asked.push(number);
      if (number <= 2) return of(counted(10, number * 10));
      return new Observable<never>(() => () => (aborted += 1));
    });
  const source$ = pagedSource(fetch, { window: 4, concurrency: 3 });
  expect(await lastValueFrom(source$.pipe(limit(20), rows(), toArray()))).toHaveLength(20);
  expect(asked.length).toBeLessThan(6);
  expect(aborted).toBe(asked.length - 2);
});
