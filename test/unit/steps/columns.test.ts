import { collections, columnsOf } from '../../../src/collections/index.js';
import type { Row } from '../../../src/core/index.js';
import { cast, derive, rename, select } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { opened, planned, rowsThrough, sample } from './support.js';

test('select gives null for a field that one row lacks', async () => {
  const rows: { uid: string; email?: string }[] = [{ uid: '1', email: 'x' }, { uid: '2' }];
  const step = select<Record<string, string | null>, string>(['uid', 'email']);
  expect(await rowsThrough(step, rows as Record<string, string>[])).toEqual([
    { uid: '1', email: 'x' },
    { uid: '2', email: null },
  ]);
});

test('rename gives a field another name at the same place', async () => {
  const step = rename<{ uid: string; affid: string }, { uid: 'user_id' }>({ uid: 'user_id' });
  const [row] = await rowsThrough(step, [{ uid: '7', affid: '1' }]);
  expect(Object.entries(row ?? {})).toEqual(Object.entries({ user_id: '7', affid: '1' }));
});

test('rename refuses a name that is taken instead of overwriting its field, and one name for two fields', async () => {
  const taken = { code: 'E_STEP_CONFIG', message: "rename: there is already a field 'b'" };
  await expect(rowsThrough(rename<Row, { a: string }>({ a: 'b' }), [{ a: '1', b: '2' }])).rejects.toMatchObject(taken);
  const two = rename<Row, { a: string; b: string }>({ a: 'c', b: 'c' });
  await expect(rowsThrough(two, [{ a: '1', b: '2' }])).rejects.toMatchObject({ code: 'E_STEP_CONFIG' });
  expect(await rowsThrough(opened(steps.rename, { a: 'c', b: 'c' }), [{ a: '1' }])).toEqual([{ c: '1' }]);
});

test('rename keeps the renamed field in a file, where only the service can have brought another of that name', async () => {
  const [first, second] = [sample('leads', { lead_id: '1', id: '999' }), { id: '999', ...sample('leads', { lead_id: '2' }) }];
  const out = await rowsThrough(opened(steps.rename, { lead_id: 'id' }), [first, second]);
  expect(out.map(({ id }) => id)).toEqual(['1', '2']);
});

test('rename plans the new name as the original one too', () => {
  const column = planned(steps.rename, { ip_address: 'ip' }).columns.find(({ name }) => name === 'ip');
  expect(column).toMatchObject({ name: 'ip', original: 'ip', sensitivity: 'personal' });
});

test('derive shows every function the row as it came in', async () => {
  const step = derive({ a: (row: Row) => `${String(row.a)}1`, b: (row: Row) => `${String(row.a)}2` });
  expect(await rowsThrough(step, [{ a: 'x' }])).toEqual([{ a: 'x1', b: 'x2' }]);
});

test('derive keeps the place and the original name of a column that it replaces', () => {
  const before = columnsOf(collections.leads);
  const { columns } = planned(steps.derive, { psid: 'upper(psid)' });
  expect(columns.map(({ name, original }) => [name, original])).toEqual(before.map(({ name, original }) => [name, original]));
  expect(columns.find(({ name }) => name === 'psid')).toMatchObject({ type: 'text', cast: true });
});

test('derive is as sensitive as the fields that it uses', () => {
  const { columns } = planned(steps.derive, { city: 'zip_city(zipcode)', word: "lead_status + '!'" });
  expect(columns.slice(-2).map(({ sensitivity }) => sensitivity)).toEqual(['personal', 'plain']);
  const input = columnsOf(collections.bridges, ['crm_key']);
  expect(planned(steps.derive, { key: 'name + crm_key' }, input).columns.at(-1)).toMatchObject({ sensitivity: 'secret' });
});

test('cast turns text into typed values', async () => {
  const step = cast({ age: 'integer', share: 'decimal', ok: 'flag', at: 'timestamp', day: 'date', name: 'text' });
  expect(await rowsThrough<Row, Row>(step, [{ age: '41', share: '.5', ok: 'No', at: '0', day: '20240229', name: '007' }])).toEqual([
    { age: 41n, share: 0.5, ok: false, at: new Date(0), day: new Date('2024-02-29T00:00:00Z'), name: '007' },
  ]);
});

test('cast in a file casts every field by its declared type unless types are named', async () => {
  const [row] = await rowsThrough(opened(steps.cast, {}), [sample('leads', { age: '41', is_valid: 'n' })]);
  expect(row).toMatchObject({ age: 41n, is_valid: false, timestamp: new Date('2024-02-29T00:00:00Z'), zipcode: 'text' });
});
