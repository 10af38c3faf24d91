import { describe, expect, test } from '@jest/globals';
import { Coded, codesOfTexts, perDictionary, Table, valuesOf } from '../../../src/columnar/index.js';
import { textsOf } from '../../support/cells.js';

/** Texts that are all different, from a number on. */
function numbered(from: number, count: number) {
  return textsOf(Array.from({ length: count }, (_, index) => `text ${from + index}`));
}

describe('texts by code', () => {
  test('are what they were, with one dictionary for all pages', () => {
    const codesOf = codesOfTexts();
    const long = 'é'.repeat(5000);
    const [one, other] = [['a', '', 'a', long], ['b', long, 'a'], []].map((texts) => codesOf(textsOf(texts)));
    expect(one && valuesOf(one)).toEqual(['a', '', 'a', long]);
    expect(other && valuesOf(other)).toEqual(['b', long, 'a']);
    expect(other?.values).toBe(one?.values);
    expect(other?.values).toEqual(['a', '', long, 'b']);
  });

  test('get another dictionary when one is full, and the pages before keep theirs', () => {
    const codesOf = codesOfTexts();
    const pages = [0, 0, 0, 40_000].map((from) => codesOf(numbered(from, 40_000)));
    expect(new Set(pages.map((page) => page?.values)).size).toBe(2);
    expect(pages.map((page) => page?.value(39_999))).toEqual(['text 39999', 'text 39999', 'text 39999', 'text 79999']);
  });

  test('get another dictionary when the texts of one are long', () => {
    const codesOf = codesOfTexts();
    const [some, others] = ['a', 'b'].map((letter) =>
      textsOf(Array.from({ length: 40 }, (_, index) => `${letter}${index}`.padEnd(100_000))),
    );
    const pages = [some, some, some, others, some].map((texts) => texts && codesOf(texts)?.values);
    expect(pages.slice(1).map((dictionary) => dictionary === pages[0])).toEqual([true, true, true, false]);
    expect(pages.map((dictionary) => dictionary?.length)).toEqual([80, 80, 80, 80, 40]);
  });

  test.each([
    ['that hardly come again', [numbered(0, 40_000), numbered(40_000, 40_000)]],
    ['of more rows than there are codes', [numbered(0, 65_537)]],
  ])('are left alone in columns %s', (_which, pages) => {
    const codesOf = codesOfTexts();
    expect(pages.map((texts) => codesOf(texts)).at(-1)).toBeUndefined();
  });
});

test('what is found out about the values that rows have is found out once, until another dictionary comes', () => {
  const asked: unknown[] = [];
  const dictionary = ['a', null];
  const found = perDictionary(
    () => [] as unknown[],
    (_, value, code) => void asked.push([value, code]),
  );
  const first = found(new Coded(dictionary, Uint16Array.of(1, 1)));
  dictionary.push('b');
  expect(found(new Coded(dictionary, Uint16Array.of(2, 1)))).toBe(first);
  expect(asked.splice(0)).toEqual([
    [null, 1],
    ['b', 2],
  ]);
  expect(found(new Coded(['a', 'b'], Uint16Array.of(1)))).not.toBe(first);
  expect(asked).toEqual([['b', 1]]);
});

test('columns that share their codes still do when rows are picked', () => {
  const codes = Uint16Array.of(1, 0, 1);
  const table = new Table(
    3,
    new Map([
      ['a', new Coded(['x', 'y'], codes)],
      ['b', new Coded([1n, null], codes)],
      ['c', new Coded(['x', 'y'], codes.slice())],
    ]),
  );
  const picked = table.pick([2, 1]);
  expect(picked.rows).toEqual([
    { a: 'y', b: null, c: 'y' },
    { a: 'x', b: 1n, c: 'x' },
  ]);
  const [a, b, c] = [...picked.columns.values()].map((cells) => cells instanceof Coded && cells.codes);
  expect(b).toBe(a);
  expect(c).not.toBe(a);
});
