import { describe, expect, test } from '@jest/globals';
import { columnReader, rowMaker, textCopier } from '../../../src/vector/copier.js';
import type { Row } from '../../../src/core/index.js';

const odd = ['"', '\\', '`${x}`', '\u2028', '\ud800', '', '0', '__proto__', ']; throw 1; //'];
const parsed = (text: string): Row => JSON.parse(text);
/** An object with a field of any name, even `__proto__`. */
const withField = (name: string, value: string) => parsed(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`);

describe('rowMaker', () => {
  test.each(odd)('makes a field of the name %j, and never takes values for code', (name) => {
    const value = '"}; throw new Error("ran"); ({"';
    const made = rowMaker(['a', name])(['1', value]);
    expect(new Map(Object.entries(made))).toEqual(
      new Map([
        ['a', '1'],
        [name, value],
      ]),
    );
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
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

  test.each(odd)('reads the name %j', (name) => {
    expect(columnReader([name])([withField(name, 'v')])).toEqual([['v']]);
  });
});
