import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { count, from, lastValueFrom, Subject, tap, type MonoTypeOperatorFunction } from 'rxjs';
import { itemAt } from '../../../src/core/index.js';
import { blocking, pageOf, standalone, type Collector, type Page } from '../../../src/flow/index.js';
import { batchFromRows } from '../../../src/vector/index.js';
import { BusyTime } from '../../../src/pipeline/run/busy-time.js';

const cost = fc.integer({ min: 0, max: 20 });

test('a step is busy for as long as it takes itself, whatever is behind it, and whenever what is behind it asks for more', () => {
  const chains = fc.record({
    costs: fc.array(cost, { minLength: 1, maxLength: 5 }),
    sink: cost,
    pages: fc.integer({ min: 0, max: 10 }),
    /** Whether the next page comes while the sink still has the last one, as when that is released. */
    nested: fc.boolean(),
  });
  fc.assert(
    fc.property(chains, ({ costs, sink, pages, nested }) => {
      let at = 0;
      let left = pages;
      const spend = (ms: number) => void (at += ms);
      const steps = costs.map((ms) => ({ ms, busy: new BusyTime(false, () => at) }));
      const page$ = new Subject<number>();
      const next = () => {
        if (left === 0) return;
        left -= 1;
        page$.next(left);
      };
      const step = ({ ms, busy }: (typeof steps)[number]): MonoTypeOperatorFunction<number> => {
        return (each$) => each$.pipe(busy.entering(), tap({ next: () => spend(ms), complete: () => spend(ms) }), busy.leaving());
      };
      const chain$ = steps.reduce((each$, one) => each$.pipe(step(one)), page$.asObservable());
      chain$.subscribe(() => {
        spend(sink);
        if (nested) next();
        spend(sink);
      });
      while (left > 0) next();
      page$.complete();
      expect(steps.map(({ busy }) => busy.ms)).toEqual(costs.map((ms) => ms * (pages + 1)));
      expect(at).toBe(costs.reduce((sum, ms) => sum + ms * (pages + 1), 0) + 2 * sink * pages);
    }),
  );
});

test('a step is busy with the other side that it reads, too, and not while it waits for that', () => {
  let at = 0;
  const busy = new BusyTime(false, () => at);
  const [side$, page$] = [new Subject<number>(), new Subject<number>()];
  side$.pipe(busy.entering()).subscribe(() => void (at += 5));
  page$.pipe(busy.entering(), busy.leaving()).subscribe(() => void (at += 100));
  side$.next(1);
  at += 1_000;
  side$.next(2);
  page$.next(1);
  expect(busy.ms).toBe(10);
});

test('a step that takes all rows is busy while it says that it works', () => {
  let at = 0;
  const busy = new BusyTime(true, () => at);
  const page$ = new Subject<number>();
  page$.pipe(busy.entering(), busy.leaving()).subscribe(() => void (at += 7));
  page$.next(1);
  busy.working(true);
  at += 3;
  busy.working(false);
  at += 50;
  busy.working(true);
  at += 4;
  busy.working(false);
  expect(busy.ms).toBe(7);
});

test('a step that takes all rows is busy while it takes them, while it finishes, and while it gives others', async () => {
  let at = 0;
  const busy = new BusyTime(true, () => at);
  const batch = batchFromRows([{ uid: '1' }]);
  const batches = [batch, batchFromRows([])];
  const collector: Collector = {
    add: () => {
      at += 5;
      return Promise.resolve();
    },
    finish: () => {
      at += 70;
      return Promise.resolve({
        next: () => {
          at += 300;
          return Promise.resolve(itemAt(batches.splice(0, 1), 0));
        },
      });
    },
    close: () => Promise.resolve(),
  };
  const page$ = from([1, 2].map((number): Page => pageOf(number, batch, { release: () => {} })));
  const context = standalone('steps[0] sort', { working: (is) => busy.working(is) });
  const step = blocking(context, () => collector);
  expect(await lastValueFrom(page$.pipe(step, count()))).toBe(1);
  expect(busy.ms).toBe(2 * 5 + 70 + 2 * 300);
});
