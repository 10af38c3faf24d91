import { describe, expect, test } from '@jest/globals';
import { columnReader, copier, detachedCopier, differenceFinder, textCopier, type Origin } from '../../../src/vector/copier.js';
import type { Row } from '../../../src/core/index.js';

const odd = ['a b', '"', '\\', "'", '`${x}`', '\u2028', '\ud800', '', '0', 'constructor', '__proto__', ']; throw 1; //', 'ü'];
const parsed = (text: string): Row => JSON.parse(text);
/** An object with a field of any name, even `__proto__`. */
const withField = (name: string, value: string) => parsed(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`);

describe('copier', () => {
  test('takes fields from the row and from the values given beside it, in its own order', () => {
    const copy = copier(
      new Map<string, Origin>([
        ['new', 1],
        ['uid', 'id'],
        ['other', 0],
      ]),
    );
    expect(Object.entries(copy({ id: '7', gone: 'x' }, ['a', 'b']))).toEqual([
      ['new', 'b'],
      ['uid', '7'],
      ['other', 'a'],
    ]);
  });

  test.each(odd)('copies a field of the name %j as a field', (name) => {
    const made = copier(new Map([[name, name]]))(withField(name, 'v'), []);
    expect(Object.entries(made)).toEqual([[name, 'v']]);
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
  });

  test('never takes values for code', () => {
    const value = '"}; throw new Error("ran"); ({"';
    expect(
      copier(
        new Map<string, Origin>([
          ['a', 'a'],
          ['b', 0],
        ]),
      )({ a: value }, [value]),
    ).toEqual({ a: value, b: value });
  });
});

describe('textCopier', () => {
  const copy = textCopier(
    new Map([
      ['psid', 'PSID'],
      ['uid', 'uid'],
    ]),
  );

  test('makes a row of a record whose fields are texts, empty ones too', () => {
    expect(copy({ uid: '', PSID: 'p', extra: 1 })).toEqual({ psid: 'p', uid: '' });
  });

  test.each([{ PSID: 'p' }, { PSID: 'p', uid: null }, { PSID: 'p', uid: 7 }])('makes none of %j', (record) => {
    expect(copy(record)).toBeUndefined();
  });
});

describe('columnReader', () => {
  test('gives a column of values per name, null where a row has none', () => {
    expect(columnReader(['a', 'b'])([{ a: '1', b: '2' }, { b: '3' }])).toEqual([
      ['1', null],
      ['2', '3'],
    ]);
  });

  test.each(['constructor', '__proto__', 'toString'])('takes %s for a field only where a row has it', (name) => {
    expect(columnReader([name])([withField(name, 'v'), {}])).toEqual([['v', null]]);
  });

  test.each(['constructor', '__proto__', 'toString'])(
    'is like copies of rows, and what compares them, which take %s for a field only where a row has it',
    (name) => {
      const [having, without] = [withField(name, 'v'), {}];
      expect(Object.entries(detachedCopier([name])(without))).toEqual([[name, undefined]]);
      expect(Object.entries(copier(new Map([[name, name]]))(having, []))).toEqual([[name, 'v']]);
      expect(Object.entries(copier(new Map([[name, name]]))(without, []))).toEqual([[name, undefined]]);
      expect([differenceFinder([name])(having, without), differenceFinder([name])(without, {})]).toEqual([name, undefined]);
    },
  );

  test.each(odd)('reads the name %j', (name) => {
    expect(columnReader([name])([withField(name, 'v')])).toEqual([['v']]);
  });
});
