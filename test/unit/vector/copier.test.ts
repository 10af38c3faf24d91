import { describe, expect, test } from '@jest/globals';
import { batchFromRows, rowMaker } from '../../../src/vector/record-batch.js';
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

test.each(odd)('a batch of rows reads the name %j', (name) => {
  expect([...batchFromRows([withField(name, 'v')]).columns].map(([column, vector]) => [column, vector.toArray()])).toEqual([[name, ['v']]]);
});
