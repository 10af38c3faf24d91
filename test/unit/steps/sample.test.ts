import fc from 'fast-check';
import { sample } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { opened, pages, rowsThrough, runtime, sample as lead, through } from './support.js';

const ids = Array.from({ length: 20_000 }, (_, id) => ({ id: String(id + 1) }));

async function kept(percent: number, seed?: number): Promise<readonly string[]> {
  return (await rowsThrough(sample({ percent, by: ['id'], seed }), ids)).map(({ id }) => id);
}

test.each([0.5, 1, 10, 50])('keeps about %d percent of keys that are counted up', async (percent) => {
  const expected = (ids.length * percent) / 100;
  const deviation = Math.sqrt(expected * (1 - percent / 100));
  expect(Math.abs((await kept(percent)).length - expected)).toBeLessThan(4 * deviation);
});

test('keeps the rows that it kept when this was written, in every run and version', async () => {
  expect((await kept(0.05)).join(' ')).toBe('836 6382 6387 6624 7537 9337 11275 11947 13155 13305 13393 15403 16608 19286 19903');
});

test('keeps the same rows in whatever pages and order they come', async () => {
  const rows = fc.uniqueArray(fc.record({ id: fc.string({ minLength: 1 }), n: fc.nat() }), { selector: ({ id }) => id });
  await fc.assert(
    fc.asyncProperty(rows, fc.nat({ max: 20 }), async (all, cut) => {
      const step = () => sample<{ id: string; n: number }>({ percent: 40, by: ['id'] });
      const once = await rowsThrough(step(), all);
      const reversed = all.toReversed();
      const twice = (await through(step(), pages(reversed.slice(0, cut), reversed.slice(cut)))).flatMap((page) => page.rows);
      expect(twice.toReversed()).toEqual(once);
    }),
  );
});

describe('rows that share their key', () => {
  test('stay or go together', async () => {
    const rows = ids.slice(0, 500).flatMap(({ id }) => ['a', 'b', 'c'].map((part) => ({ id, part })));
    const counts = new Map<string, number>();
    for (const { id } of await rowsThrough(sample({ percent: 20, by: ['id'] }), rows)) counts.set(id, (counts.get(id) ?? 0) + 1);
    expect(new Set(counts.values())).toEqual(new Set([3]));
  });

  test('are chosen one by one where the key lacks a part, by all that they have', async () => {
    const rows = ids.slice(0, 5000).map(({ id }) => ({ email: '', id, age: null }));
    const some = await rowsThrough(sample({ percent: 10, by: ['email'] }), rows);
    expect(some.length).toBeGreaterThan(400);
    expect(some.length).toBeLessThan(600);
    const turned = rows.map(({ id, email }) => ({ id, email }));
    expect((await rowsThrough(sample({ percent: 10, by: ['email'] }), turned)).map(({ id }) => id)).toEqual(some.map(({ id }) => id));
  });
});

test('counts what it leaves out as filtered, and says when nothing is left', async () => {
  const context = runtime();
  await rowsThrough(opened(steps.sample, { percent: 1, by: ['id'] }, context), ids);
  expect(context.tally.filtered).toBe(ids.length - (await kept(1)).length);
  expect(steps.sample.remark?.({ percent: 1 }, { ...context.tally, filtered: 7 }, 7)).toMatchObject({ code: 'W_STEP_EMPTY' });
});

test('goes by the key of the collection in a file, unless fields are named', async () => {
  const rows = ids.slice(0, 300).map(({ id }) => lead('leads', { lead_id: id, email: 'x' }));
  const byKey = await rowsThrough(opened(steps.sample, { percent: 10 }, runtime()), rows);
  expect(byKey.map((row) => row.lead_id)).toEqual((await kept(10)).filter((id) => Number(id) <= 300));
  const byEmail = await rowsThrough(opened(steps.sample, { percent: 10, by: ['email'] }), rows);
  expect([0, 300]).toContain(byEmail.length);
});
