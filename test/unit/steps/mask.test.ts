import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { Row } from '../../../src/core/index.js';
import { mask } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { castTo, opened, planned, rowsThrough, runtime } from './support.js';

const hmacKey = 'sixteen letters!';
const kinds = ['null', 'hmac', 'last4', 'redact'] as const;

function masked(kind: 'drop' | (typeof kinds)[number], row: Row): Promise<readonly Row[]> {
  return rowsThrough(mask<Row>({ v: kind }, { hmacKey }), [row]);
}

test('drop removes the column', async () => {
  expect(await masked('drop', { a: '1', v: 'secret' })).toEqual([{ a: '1' }]);
});

test('null empties the value', async () => {
  expect(await masked('null', { v: 'secret' })).toEqual([{ v: null }]);
});

test('redact leaves a fixed word', async () => {
  expect(await masked('redact', { v: 'secret' })).toEqual([{ v: '[redacted]' }]);
});

test('hmac gives the keyed digest, in hexadecimal', async () => {
  const digest = createHmac('sha256', hmacKey).update('secret é').digest('hex');
  expect(await masked('hmac', { v: 'secret é' })).toEqual([{ v: digest }]);
});

test('hmac keeps equal values equal and others apart', async () => {
  const [a, b, c] = await rowsThrough(mask<Row>({ v: 'hmac' }, { hmacKey }), [{ v: 'x' }, { v: 'x' }, { v: 'y' }]);
  expect(a).toEqual(b);
  expect(a).not.toEqual(c);
});

test('hmac depends on the key', async () => {
  const other = await rowsThrough(mask<Row>({ v: 'hmac' }, { hmacKey: `${hmacKey}2` }), [{ v: 'x' }]);
  expect(other).not.toEqual(await masked('hmac', { v: 'x' }));
});

test.each([undefined, '', 'fifteen letters'])('hmac refuses %j as its key', (key) => {
  expect(() => mask<Row>({ v: 'hmac' }, { hmacKey: key })).toThrow(expect.objectContaining({ code: 'E_STEP_CONFIG' }));
});

describe('hmac in a file', () => {
  const problem = { path: ['email'], message: 'hmac needs LEADSTREAM_HMAC_KEY with at least 16 characters' };

  test.each([undefined, '', 'fifteen letters'])('is a problem with the key %j, before anything is fetched', (hmacKey) => {
    expect(planned(steps.mask, { uid: 'redact', email: 'hmac' }, undefined, { hmacKey }).problems).toEqual([problem]);
  });

  test('is none with a key of 16 characters, nor when nothing is known of keys', () => {
    expect(planned(steps.mask, { email: 'hmac' }, undefined, { hmacKey }).problems).toEqual([]);
    expect(planned(steps.mask, { email: 'hmac' }).problems).toEqual([]);
  });

  test('is no concern of the other kinds', () => {
    expect(planned(steps.mask, { email: 'last4' }, undefined, { hmacKey: undefined }).problems).toEqual([]);
  });

  test('says in the reference where its key comes from', () => {
    expect(steps.mask.summary).toContain('LEADSTREAM_HMAC_KEY');
  });
});

test('the other kinds need no key', async () => {
  const step = opened(steps.mask, { email: 'redact' }, runtime({ hmacKey: undefined }));
  expect(await rowsThrough(step, [{ email: 'x' }])).toEqual([{ email: '[redacted]' }]);
});

test('a pipeline that wants hmac without a key does not open', () => {
  expect(() => opened(steps.mask, { email: 'hmac' }, runtime({ hmacKey: undefined }))).toThrow(/LEADSTREAM_HMAC_KEY/);
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

test('leaves other fields and the order of fields alone', async () => {
  const [row] = await rowsThrough(mask<Row>({ b: 'redact' }), [{ a: '1', b: '2', c: '3' }]);
  expect(Object.entries(row ?? {})).toEqual([
    ['a', '1'],
    ['b', '[redacted]'],
    ['c', '3'],
  ]);
});

test('plans text for what was a number, and null as it was', () => {
  const { columns } = planned(steps.mask, { a: 'last4', b: 'null', c: 'drop' }, castTo({ a: 'integer', b: 'integer', c: 'integer' }));
  expect(columns.map(({ name, type }) => [name, type])).toEqual([
    ['a', 'text'],
    ['b', 'integer'],
  ]);
});

test('refuses a kind that does not exist', () => {
  expect(steps.mask.config().safeParse({ email: 'hash' }).success).toBe(false);
});
