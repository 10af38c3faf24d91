import { expect, test } from '@jest/globals';
import { select } from '../../../src/steps/index.js';
import { rowsThrough } from './support.js';

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
