import fc from 'fast-check';
import { dedupe } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { opened, pages, rowsThrough, runtime, sample, through } from './support.js';

test('keeps the first row of every key and its order', async () => {
  const rows = [
    { id: 'b', n: '1' },
    { id: 'a', n: '2' },
    { id: 'b', n: '3' },
    { id: 'c', n: '4' },
  ];
  expect(await rowsThrough(dedupe(['id']), rows)).toEqual([rows[0], rows[1], rows[3]]);
});

test('remembers keys from page to page', async () => {
  const out = await through(dedupe(['id']), pages([{ id: '1' }], [{ id: '1' }, { id: '2' }], [{ id: '2' }]));
  expect(out.map(({ rows }) => rows)).toEqual([[{ id: '1' }], [{ id: '2' }], []]);
});

test('forgets them for the next subscription', async () => {
  const step = dedupe(['id']);
  await rowsThrough(step, [{ id: '1' }]);
  expect(await rowsThrough(step, [{ id: '1' }])).toEqual([{ id: '1' }]);
});

test.each([
  ['null', { a: '1', b: null }],
  ['empty', { a: '1', b: '' }],
  ['missing', { a: '1' }],
])('a key that lacks a part passes every time when the part is %s', async (_what, row: Record<string, string | null>) => {
  const whole: Readonly<Record<string, string | null>> = { a: '2', b: '3' };
  expect(await rowsThrough(dedupe(['a', 'b']), [row, row, whole, whole])).toEqual([{ b: null, ...row }, { b: null, ...row }, whole]);
});

test('keys of several columns are equal only when every part is', async () => {
  const part = fc.string({ minLength: 1, maxLength: 4, unit: fc.constantFrom('a', 'b', '1', ':') });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ a: part, b: part }), { maxLength: 30 }), async (rows) => {
      const kept = await rowsThrough(dedupe(['a', 'b']), rows);
      expect(kept.length).toBe(new Set(rows.map(({ a, b }) => JSON.stringify([a, b]))).size);
    }),
  );
});

test('compares typed values by what they are', async () => {
  const day = (text: string) => ({ at: new Date(text) });
  const rows = [day('2024-01-01T00:00:00Z'), day('2024-01-01T00:00:00.001Z'), day('2024-01-01T00:00:00Z')];
  expect(await rowsThrough(dedupe(['at']), rows)).toEqual(rows.slice(0, 2));
});

test('goes by the key of the collection unless told otherwise', async () => {
  const rows = [sample('leads', { lead_id: '1', email: 'x' }), sample('leads', { lead_id: '2', email: 'x' })];
  expect(await rowsThrough(opened(steps.dedupe, {}), rows)).toHaveLength(2);
  expect(await rowsThrough(opened(steps.dedupe, { by: ['email'] }), rows)).toHaveLength(1);
});

test('keeps no keys of rows that a checked read gives once each, and any others all the same', async () => {
  const context = runtime({ distinct: true });
  const input = pages([sample('leads', { lead_id: '1', email: 'x' }), sample('leads', { lead_id: '2', email: 'x' })]);
  for (const config of [{}, { by: ['lead_id'] }]) expect((await through(opened(steps.dedupe, config, context), input))[0]).toBe(input[0]);
  for (const by of [['email'], ['email', 'uid']])
    expect((await through(opened(steps.dedupe, { by }, context), input))[0]?.rows).toEqual(input[0]?.rows.slice(0, 1));
});

describe('under casefold', () => {
  const rows = [
    { email: 'Ann@X.org' },
    { email: ' ann@x.ORG ' },
    { email: 'STRASSE' },
    { email: 'straße' },
    { email: 'ann@x.org.' },
    { email: 'STRAẞE' },
  ];

  test('white space around a key and its case do not count, as in join; the first row stays as it is', async () => {
    expect(await rowsThrough(dedupe(['email'], { normalize: 'casefold' }), rows)).toEqual([rows[0], rows[2], rows[4]]);
  });

  test('rows that a checked read gives once each are compared all the same', async () => {
    const context = runtime({ distinct: true });
    const leads = [sample('leads', { lead_id: 'a' }), sample('leads', { lead_id: 'A' })];
    expect(await rowsThrough(opened(steps.dedupe, { normalize: 'casefold' }, context), leads)).toEqual(leads.slice(0, 1));
  });
});
