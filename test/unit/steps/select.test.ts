import { expect, test } from '@jest/globals';
import { select } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { pages, planned, rowsThrough, through } from './support.js';

const user = { uid: '7', email: 'a@b.c', affid: '1' };

test('keeps the named fields in the order given', async () => {
  const [row] = await rowsThrough(select(['email', 'uid']), [user]);
  expect(Object.entries(row ?? {})).toEqual([
    ['email', 'a@b.c'],
    ['uid', '7'],
  ]);
});

test('gives null for a field that one row lacks', async () => {
  const rows: { uid: string; email?: string }[] = [{ uid: '1', email: 'x' }, { uid: '2' }];
  const step = select<Record<string, string | null>, string>(['uid', 'email']);
  expect(await rowsThrough(step, rows as Record<string, string>[])).toEqual([
    { uid: '1', email: 'x' },
    { uid: '2', email: null },
  ]);
});

test('fails when no row of a page has a field', async () => {
  const step = select<Record<string, string | null>, string>(['uid', 'emial']);
  await expect(rowsThrough(step, [user, user])).rejects.toMatchObject({
    code: 'E_STEP_FIELD',
    message: "select: no row of page 1 has a field emial; did you mean 'email'?",
  });
});

test('does not take what every object inherits for a field', async () => {
  const step = select<Record<string, string | null>, string>(['constructor']);
  await expect(rowsThrough(step, [user])).rejects.toMatchObject({ code: 'E_STEP_FIELD' });
});

test('lets an empty page pass', async () => {
  const out = await through(select<Record<string, string | null>, string>(['anything']), pages<Record<string, string>>([]));
  expect(out).toMatchObject([{ number: 1, rows: [] }]);
});

test('refuses to select nothing', () => {
  expect(() => select([])).toThrow(expect.objectContaining({ code: 'E_STEP_CONFIG' }));
  expect(steps.select.config().safeParse([]).success).toBe(false);
});

test('plans the named columns in the order given', () => {
  const { columns, problems } = planned(steps.select, ['zipcode', 'psid']);
  expect(columns.map(({ name, original }) => [name, original])).toEqual([
    ['zipcode', 'zipcode'],
    ['psid', 'PSID'],
  ]);
  expect(problems).toEqual([]);
});

test('reports a field that is named twice', () => {
  expect(planned(steps.select, ['psid', 'uid', 'psid']).problems).toEqual([
    { path: [2], message: "field 'psid' is listed twice; list it once" },
  ]);
});
