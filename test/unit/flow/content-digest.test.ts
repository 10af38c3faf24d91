import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Row, Value } from '../../../src/collections/index.js';
import { Table } from '../../../src/columnar/index.js';
import { contentDigest, rowDigest, tableDigests } from '../../../src/flow/content-digest.js';
import { cellsOf, textsOf } from '../../support/cells.js';

describe('the digest of some values', () => {
  test.each<[string, readonly (readonly unknown[])[]]>([
    ['an order from another', [['ab', 'cd'], ['cd', 'ab'], ['ba', 'cd']]], // prettier-ignore
    ['a border from another', [['', 'abcde'], ['a', 'bcde'], ['ab', 'cde'], ['abc', 'de'], ['abcd', 'e'], ['abcde', '']]], // prettier-ignore
    ['numbers of values', [[], [''], ['', ''], ['', '', '']]],
    ['lengths', Array.from({ length: 600 }, (_, length) => ['\0'.repeat(length)])],
    ['one character at any place', Array.from({ length: 70 }, (_, at) => [`${'a'.repeat(at)}b${'a'.repeat(69 - at)}`])],
    ['code units that share their low byte', [['\u0141'], ['A'], ['\u4100'], ['\u0100A'], ['A\u0100']]],
    ['lone surrogates', [['\ud800'], ['\udfff'], ['\ufffd'], ['a\ud800'], ['\ud800a']]],
    ['texts longer than any usual one', [['é'.repeat(5000)], [`${'é'.repeat(4999)}è`], [`è${'é'.repeat(4999)}`]]],
    ['numbers', [[1n], [-1n], [10n], [0.1], [true], [null]]],
  ])('tells %s', (_name, contents) => {
    expect(new Set(contents.map(contentDigest)).size).toBe(contents.length);
  });

  test('is the same for the same values, in a row or not', () => {
    const values = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.bigInt(), fc.constant(null), fc.date()));
    fc.assert(
      fc.property(values, (content) => {
        const digest = contentDigest(content);
        expect(digest).toBe(digest >>> 0);
        expect(rowDigest(Object.fromEntries(content.map((value, index) => [`c${index}`, value])))).toBe(digest);
      }),
    );
  });

  test('collides no more often than chance has it', () => {
    const digests = new Set<number>();
    for (let n = 0; n < 100_000; n += 1) digests.add(contentDigest([String(n), 'x', String(n % 7)]));
    expect(digests.size).toBeGreaterThan(100_000 - 12);
  });

  test('stays what it is in index files', () => {
    expect(contentDigest(['lead_id', '4000000', 'name', 'Amélie', 'age', 55n, 'score', -0.5])).toBe(1_226_747_836);
  });
});

describe('the digests of a table', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('', 'é', '😀', 'null', '\0', 'x'.repeat(300)));
  const value: fc.Arbitrary<Value> = fc.oneof(text, fc.bigInt(), fc.double(), fc.boolean(), fc.date(), fc.constant(null));
  const column = (rows: number) => {
    const of = (values: fc.Arbitrary<Value>) => fc.array(values, { minLength: rows, maxLength: rows });
    return fc.oneof(of(text), of(fc.string({ unit: 'grapheme' })), of(value));
  };

  test('are those of its rows', () => {
    const tables = fc.integer({ min: 0, max: 300 }).chain((rows) => fc.array(column(rows), { maxLength: 5 }));
    fc.assert(
      fc.property(tables, (columns) => {
        const table = new Table(columns[0]?.length ?? 0, new Map(columns.map((values, index) => [`c${index}`, cellsOf(values)])));
        expect([...tableDigests(table)]).toEqual(table.rows.map(rowDigest));
      }),
    );
  });

  test('take fields in the order that an object has', () => {
    const rows: Row[] = [JSON.parse('{"b":"1","__proto__":"2","7":"3","a":"4"}')];
    const table = new Table(1, new Map(['b', '__proto__', '7', 'a'].map((name, index) => [name, textsOf([String(index + 1)])])));
    expect([...tableDigests(table)]).toEqual(rows.map(rowDigest));
  });

  test.each(['', '"', '"}]'])('do not depend on what is behind the last text (%j)', (behind) => {
    for (const last of ['', 'a', 'ab', 'abc', 'abcd', 'é']) {
      const table = new Table(2, new Map([['a', textsOf(['x', last], behind)]]));
      expect([...tableDigests(table)]).toEqual([contentDigest(['x']), contentDigest([last])]);
    }
  });
});
