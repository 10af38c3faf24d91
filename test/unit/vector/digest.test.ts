import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Row, Value } from '../../../src/core/index.js';
import { batchFromRows, digestOf, digestsOf, RecordBatch } from '../../../src/vector/index.js';
import { batchOfTexts, vectorOf, textsOf } from '../../support/batches.js';
import { anyText } from '../../support/texts.js';

describe('the digest of some values', () => {
  test.each<[string, readonly (readonly unknown[])[]]>([
    ['an order from another', [['ab', 'cd'], ['cd', 'ab'], ['ba', 'cd']]], // oxfmt-ignore
    ['a border from another', [['', 'abcde'], ['a', 'bcde'], ['ab', 'cde'], ['abc', 'de'], ['abcd', 'e'], ['abcde', '']]], // oxfmt-ignore
    ['numbers of values', [[], [''], ['', ''], ['', '', '']]],
    ['lengths', Array.from({ length: 600 }, (_, length) => ['\0'.repeat(length)])],
    ['one character at any place', Array.from({ length: 70 }, (_, at) => [`${'a'.repeat(at)}b${'a'.repeat(69 - at)}`])],
    ['code units that share their low byte', [['\u0141'], ['A'], ['\u4100'], ['\u0100A'], ['A\u0100']]],
    ['lone surrogates', [['\ud800'], ['\udfff'], ['\ufffd'], ['a\ud800'], ['\ud800a']]],
    ['texts longer than any usual one', [['é'.repeat(5000)], [`${'é'.repeat(4999)}è`], [`è${'é'.repeat(4999)}`]]],
    ['numbers', [[1n], [-1n], [10n], [0.1], [true], [null]]],
  ])('tells %s', (_name, contents) => {
    expect(new Set(contents.map((content) => digestOf(content))).size).toBe(contents.length);
  });

  test('collides no more often than chance has it', () => {
    const digests = new Set<number>();
    for (let n = 0; n < 100_000; n += 1) digests.add(digestOf([String(n), 'x', String(n % 7)]));
    expect(digests.size).toBeGreaterThan(100_000 - 12);
  });

  test('stays what it is in index files', () => {
    expect(digestOf(['lead_id', '4000000', 'name', 'Amélie', 'age', 55n, 'score', -0.5])).toBe(1_226_747_836);
  });
});

describe('the digests of a batch', () => {
  const text = fc.oneof(fc.string(), anyText(), fc.constantFrom('', 'é', '😀', 'null', '\0', 'x'.repeat(300)));
  const value: fc.Arbitrary<Value> = fc.oneof(text, fc.bigInt(), fc.double(), fc.boolean(), fc.date(), fc.constant(null));
  const column = (rows: number) => {
    const of = (values: fc.Arbitrary<Value>) => fc.array(values, { minLength: rows, maxLength: rows });
    return fc.oneof(of(text), of(fc.string({ unit: 'grapheme' })), of(value));
  };

  /** What they have to be, of a row by itself. */
  const alone = (row: Row) => [...digestsOf(batchFromRows([row]))];

  test('are those of the rows, whatever vectors the columns have', () => {
    const batches = fc.integer({ min: 0, max: 300 }).chain((rows) => fc.array(column(rows), { maxLength: 5 }));
    fc.assert(
      fc.property(batches, (columns) => {
        const batch = new RecordBatch(columns[0]?.length ?? 0, new Map(columns.map((values, index) => [`c${index}`, vectorOf(values)])));
        const digests = batch.rows().flatMap(alone);
        expect([...digestsOf(batch)]).toEqual(digests);
        expect([...digestsOf(batchOfTexts(batch.rows(), [...batch.columns.keys()]))]).toEqual(digests);
      }),
    );
  });

  test('are the same with fields in another order, and with fields that are null', () => {
    const row = { a: '1', b: 'é', c: '' };
    expect(alone({ c: '', d: null, b: 'é', a: '1' })).toEqual(alone(row));
    const others = [
      { ...row, a: '2' },
      { ...row, d: '' },
      { a: 'é', b: '1', c: '' },
      { a: '1', b: 'é' },
      { a: '1', b: 'é', d: '' },
    ];
    expect(new Set([row, ...others].flatMap(alone)).size).toBe(6);
  });

  test.each(['', '"', '"}]'])('do not depend on what is behind the last text (%j)', (behind) => {
    for (const last of ['', 'a', 'ab', 'abc', 'abcd', 'é']) {
      const batch = new RecordBatch(2, new Map([['a', textsOf(['x', last], behind)]]));
      expect([...digestsOf(batch)]).toEqual([{ a: 'x' }, { a: last }].flatMap(alone));
    }
  });
});
