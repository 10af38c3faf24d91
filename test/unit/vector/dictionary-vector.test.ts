import { DictionaryVector, dictionaryEncoder, FlatVector, type Utf8Vector } from '../../../src/vector/index.js';
import { textsOf } from '../../support/batches.js';

/** Texts that are all different, from a number on. */
function numbered(from: number, count: number) {
  return textsOf(Array.from({ length: count }, (_, index) => `text ${from + index}`));
}

describe('a dictionary of texts', () => {
  /** What is a dictionary by now. */
  function encodings(pages: readonly Utf8Vector[]): readonly DictionaryVector[] {
    const encode = dictionaryEncoder();
    return pages.map(encode).filter((vector) => vector instanceof DictionaryVector);
  }

  test('has the texts as they were, and is one for all pages', () => {
    const long = 'é'.repeat(5000);
    const [one, other] = encodings([['a', '', 'a', long], ['b', long, 'a'], []].map((texts) => textsOf(texts)));
    expect(one?.toArray()).toEqual(['a', '', 'a', long]);
    expect(other?.toArray()).toEqual(['b', long, 'a']);
    expect(other?.values).toBe(one?.values);
    expect(other?.values).toEqual(['a', '', long, 'b']);
  });

  test('is another one when it is full, and the pages before keep theirs', () => {
    const pages = encodings([0, 0, 0, 40_000].map((from) => numbered(from, 40_000)));
    expect(new Set(pages.map((page) => page.values)).size).toBe(2);
    expect(pages.map((page) => page.value(39_999))).toEqual(['text 39999', 'text 39999', 'text 39999', 'text 79999']);
  });

  test.each([
    ['of texts that hardly come again', [numbered(0, 40_000), numbered(40_000, 40_000)]],
    ['of more rows than it can have values', [numbered(0, 65_537)]],
    ['of other values', [new FlatVector(['a', 'a'])]],
  ])('is made of no column %s', (_which, pages) => {
    const encode = dictionaryEncoder();
    expect(pages.map(encode).at(-1)).toBe(pages.at(-1));
  });
});
