import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Row, Value } from '../../../src/core/index.js';
import { batchFromRows, FlatVector } from '../../../src/vector/index.js';
import { batchOfTexts } from '../../support/batches.js';

const rows: readonly Row[] = [
  { a: '1', b: '2' },
  { a: '3', b: '4' },
];

describe('rows as a batch', () => {
  const value = fc.constantFrom<Value>('', 'x', null, 1n, true);
  const row = fc.dictionary(fc.constantFrom('a', 'b', '7', 'constructor', '__proto__', 'toString'), value);

  test('are what they were, with null for what one of them does not have', () => {
    fc.assert(
      fc.property(fc.array(row), (some) => {
        const names = [...new Set(some.flatMap((each) => Object.keys(each)))];
        const batch = batchFromRows(some);
        expect([...batch.columns.keys()]).toEqual(names);
        const expected = some.map((each) => names.map((name) => (Object.hasOwn(each, name) ? (each[name] ?? null) : null)));
        expect(some.map((_, index) => names.map((name) => batch.column(name).value(index)))).toEqual(expected);
        expect(batch.rows().map((each) => Object.entries(each).length)).toEqual(some.map(() => names.length));
      }),
    );
  });
});

test('a batch that gets columns keeps the place of one that exists, and all others as they are', () => {
  const batch = batchOfTexts(rows);
  const [x, z] = [new FlatVector(['x', 'y']), new FlatVector([true, null])];
  const more = batch.with([
    ['a', x],
    ['z', z],
  ]);
  expect([...more.columns]).toEqual([
    ['a', x],
    ['b', batch.column('b')],
    ['z', z],
  ]);
  expect(more.column('b')).toBe(batch.column('b'));
});

test('a column that is not there is an error with its name, unless a batch may lack it', () => {
  const batch = batchOfTexts(rows);
  expect(() => batch.column('c')).toThrow('a batch has no column c');
  expect(batch.columnOrNulls('c').toArray()).toEqual([null, null]);
  expect([...batch.select(['c', 'b']).columns.keys()]).toEqual(['b']);
});
