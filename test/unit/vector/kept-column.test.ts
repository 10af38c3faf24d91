import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Value } from '../../../src/core/index.js';
import { DictionaryVector, KeptColumn, Utf8Vector } from '../../../src/vector/index.js';
import { vectorOf } from '../../support/batches.js';

const text = fc.oneof(
  fc.constantFrom('', 'a', 'b', 'ü', '😀', 'a\0b', '\ud83d', 'x'.repeat(40)),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
);
const value: fc.Arbitrary<Value> = fc.oneof({ weight: 8, arbitrary: text }, fc.constantFrom(null, -0, 7, 2n ** 60n, true, new Date(0)));
const page = fc.oneof(fc.array(value, { maxLength: 8 }), fc.array(text, { maxLength: 8 }));

function columnOf(pages: readonly (readonly Value[])[]): KeptColumn {
  const column = new KeptColumn();
  for (const values of pages) column.append(vectorOf(values));
  return column;
}

const numbered = (count: number, of: (index: number) => string) => Array.from({ length: count }, (_, index) => of(index));

describe('a kept column', () => {
  test('gives back the values that were added, and null where no row is asked for', () => {
    fc.assert(
      fc.property(fc.array(page, { maxLength: 5 }), fc.array(fc.nat(), { maxLength: 12 }), (pages, wanted) => {
        const column = columnOf(pages);
        const all = pages.flat();
        expect(column.length).toBe(all.length);
        for (const [row, expected] of all.entries()) expect(column.value(row)).toBe(expected);
        const rows = wanted.map((n) => (n % (all.length + 1)) - 1);
        column.close();
        expect(column.take(rows).toArray()).toEqual(rows.map((row) => (row < 0 ? null : all[row])));
      }),
    );
  });

  test('has few values in one dictionary for all pages', () => {
    const column = columnOf([numbered(10_000, (n) => `kind ${n % 7}`), [null, 'kind 3']]);
    const [one, other] = [column.take([0, 9_999]), column.take([10_000, -1])];
    expect([one.toArray(), other.toArray()]).toEqual([
      ['kind 0', 'kind 3'],
      [null, null],
    ]);
    expect(one instanceof DictionaryVector && other instanceof DictionaryVector && one.values === other.values).toBe(true);
  });

  test.each([
    ['at once', (n: number) => `value ${n}`],
    ['when a dictionary is full', (n: number) => `value ${n < 150_000 ? n % 60_000 : n}`],
    ['long after it began', (n: number) => `value ${n < 20_000 ? n % 9 : n}`],
  ])('has many values as bytes: %s', (_what, of) => {
    const all = numbered(160_000, of);
    const column = new KeptColumn();
    for (let from = 0; from < all.length; from += 500) column.append(vectorOf(all.slice(from, from + 500)));
    const rows = numbered(2_000, String).map((n) => (Number(n) * 7_919) % all.length);
    const taken = column.take(rows);
    expect(taken).toBeInstanceOf(Utf8Vector);
    expect(taken.toArray()).toEqual(rows.map((row) => all[row]));
    expect(column.value(all.length - 1)).toBe(all.at(-1));
  });
});
