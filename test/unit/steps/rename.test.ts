import { expect, test } from '@jest/globals';
import type { Row } from '../../../src/core/index.js';
import { rename } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { opened, planned, rowsThrough, sample } from './support.js';

test('gives a field another name at the same place', async () => {
  const [row] = await rowsThrough(rename<{ uid: string; affid: string }, { uid: 'user_id' }>({ uid: 'user_id' }), [
    { uid: '7', affid: '1' },
  ]);
  expect(Object.entries(row ?? {})).toEqual([
    ['user_id', '7'],
    ['affid', '1'],
  ]);
});

test('swaps names', async () => {
  const step = rename<{ a: string; b: string }, { a: 'b'; b: 'a' }>({ a: 'b', b: 'a' });
  expect(await rowsThrough(step, [{ a: '1', b: '2' }])).toEqual([{ b: '1', a: '2' }]);
});

test('refuses a name that is taken instead of overwriting its field', async () => {
  const step = rename<Row, { a: string }>({ a: 'b' });
  await expect(rowsThrough(step, [{ a: '1', b: '2' }])).rejects.toMatchObject({
    code: 'E_STEP_CONFIG',
    message: "rename: there is already a field 'b'",
  });
});

test('refuses to give two fields one name', async () => {
  const step = rename<Row, { a: string; b: string }>({ a: 'c', b: 'c' });
  await expect(rowsThrough(step, [{ a: '1', b: '2' }])).rejects.toMatchObject({ code: 'E_STEP_CONFIG' });
  expect(await rowsThrough(opened(steps.rename, { a: 'c', b: 'c' }), [{ a: '1' }])).toEqual([{ c: '1' }]);
});

test('keeps the renamed field in a file, where only the service can have brought another of that name', async () => {
  const [first, second] = [sample('leads', { lead_id: '1', id: '999' }), { id: '999', ...sample('leads', { lead_id: '2' }) }];
  const out = await rowsThrough(opened(steps.rename, { lead_id: 'id' }), [first, second]);
  expect(out.map(({ id }) => id)).toEqual(['1', '2']);
});

test('plans the new name as the original one too', () => {
  const column = planned(steps.rename, { ip_address: 'ip' }).columns.find(({ name }) => name === 'ip');
  expect(column).toMatchObject({ name: 'ip', original: 'ip', sensitivity: 'personal' });
});

test('reports a name that is taken, and two fields that would have one name', () => {
  expect(planned(steps.rename, { lead_id: 'uid' }).problems).toEqual([{ path: ['lead_id'], message: "there is already a field 'uid'" }]);
  const { problems } = planned(steps.rename, { home_phone: 'phone', cell_phone: 'phone' });
  expect(problems.map(({ path }) => path)).toEqual([['home_phone'], ['cell_phone']]);
});
