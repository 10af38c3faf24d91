import { createHmac } from 'node:crypto';
import { collections, columnsOf } from '../../../src/collections/index.js';
import type { Column, Row } from '../../../src/core/index.js';
import { mask, personalMasks } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { castTo, opened, planned, rowsThrough, runtime, sample } from './support.js';

const hmacKey = 'sixteen letters!';
const kinds = ['null', 'hmac', 'last4', 'redact'] as const;

function masked(kind: 'drop' | (typeof kinds)[number], row: Row): Promise<readonly Row[]> {
  return rowsThrough(mask<Row>({ v: kind }, { hmacKey }), [row]);
}

test('hmac gives the keyed digest, in hexadecimal', async () => {
  const digest = createHmac('sha256', hmacKey).update('secret é').digest('hex');
  expect(await masked('hmac', { v: 'secret é' })).toEqual([{ v: digest }]);
});

test.each([undefined, '', 'fifteen letters'])('hmac refuses %j as its key', (key) => {
  expect(() => mask<Row>({ v: 'hmac' }, { hmacKey: key })).toThrow(expect.objectContaining({ code: 'E_STEP_CONFIG' }));
});

test.each([
  ['2125550142', '******0142'],
  ['12345', '*2345'],
  ['1234', '****'],
  ['1', '*'],
  ['😀😀😀😀😀😀', '**😀😀😀😀'],
  ['a😀123', '*😀123'],
  ['😀123', '****'],
])('last4 shows %j as %j', async (text, shown) => {
  expect(await masked('last4', { v: text })).toEqual([{ v: shown }]);
});

describe.each(kinds)('%s', (kind) => {
  test.each([[''], [null]])('leaves %j as it is, so that completeness can be judged', async (value) => {
    expect(await masked(kind, { v: value })).toEqual([{ v: value }]);
  });

  test('hides typed values as well', async () => {
    for (const value of [false, 0n, 0, new Date(0)]) {
      const [row] = await masked(kind, { v: value });
      expect(row?.v).not.toEqual(value);
    }
  });
});

test('plans text for what was a number, and null as it was', () => {
  const { columns } = planned(steps.mask, { a: 'last4', b: 'null', c: 'drop' }, castTo({ a: 'integer', b: 'integer', c: 'integer' }));
  expect(columns.map(({ name, type }) => [name, type])).toEqual(Object.entries({ a: 'text', b: 'integer' }));
});

describe('the preset personal', () => {
  const personal = columnsOf(collections.leads).filter(({ sensitivity }) => sensitivity === 'personal');
  const namesOf = (columns: readonly Column[]) => columns.map(({ name }) => name);

  test('drops every field that is declared personal, and no other', async () => {
    const { columns, problems } = planned(steps.mask, { preset: 'personal' });
    expect(problems).toEqual([]);
    expect(namesOf(columns)).toEqual(namesOf(columnsOf(collections.leads).filter(({ sensitivity }) => sensitivity !== 'personal')));
    const [row] = await rowsThrough(opened(steps.mask, { preset: 'personal' }), [sample('leads')]);
    expect(Object.keys(row ?? {})).toEqual(namesOf(columns));
  });

  test('masks them as told, beside fields that are named and those that are kept', async () => {
    const config = { preset: 'personal', as: 'redact', email: 'last4', zipcode: 'keep', uid: 'null' };
    const [row] = await rowsThrough(opened(steps.mask, config), [sample('leads')]);
    const expected = personal.map(({ name }) => [name, '[redacted]']);
    expect(row).toEqual({ ...sample('leads'), ...Object.fromEntries(expected), email: '****', zipcode: 'text', uid: null });
  });

  test.each(['plain', 'personal'] as const)(
    'takes an undeclared field for personal, also of a collection that says %s',
    async (unknown) => {
      const collection = { ...collections.leads, unknown };
      const row = { ...sample('leads'), shoe_size: '44' };
      const [masked] = await rowsThrough(opened(steps.mask, { preset: 'personal', as: 'redact' }, runtime({ collection })), [row]);
      expect(masked?.shoe_size).toBe('[redacted]');
    },
  );

  test('needs the key of hmac, and masks with it', async () => {
    const message = 'hmac needs LEADSTREAM_HMAC_KEY with at least 16 characters';
    const config = { preset: 'personal', as: 'hmac' };
    expect(planned(steps.mask, config, undefined, { hmacKey: undefined }).problems).toEqual([{ path: ['as'], message }]);
    expect(() => opened(steps.mask, config, runtime({ hmacKey: undefined }))).toThrow(/the option hmacKey/);
    const [row] = await rowsThrough(opened(steps.mask, config, runtime({ hmacKey })), [sample('leads')]);
    expect(row?.email).toBe(createHmac('sha256', hmacKey).update('text').digest('hex'));
  });

  test('is a record of masks in code', async () => {
    const masks = personalMasks(collections.leads, 'null');
    expect(Object.keys(masks)).toEqual(namesOf(personal));
    const [row] = await rowsThrough(mask<Row>({ ...masks, uid: 'redact' }), [sample('leads')]);
    expect([row?.email, row?.uid, row?.lead_id]).toEqual([null, '[redacted]', 'text']);
  });
});
