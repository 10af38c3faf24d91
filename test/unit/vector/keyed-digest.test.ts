import fc from 'fast-check';
import { DictionaryVector, FlatVector, rowDigests, Utf8Vector, type Vector } from '../../../src/vector/index.js';
import { anyText } from '../../support/texts.js';

const seeded = (seed: number) => (name: string) => Uint32Array.from([seed, name.length, name.charCodeAt(0), 7]);

function digests(columns: Readonly<Record<string, Vector>>, rows: number, seed = 1): readonly string[] {
  const named = Object.entries(columns);
  const digestsOf = rowDigests(
    named.map(([name]) => ({ name })),
    seeded(seed),
  );
  const sums = digestsOf(
    rows,
    named.map(([, vector]) => vector),
  );
  return Array.from({ length: rows }, (_, row) => `${sums[2 * row]} ${sums[2 * row + 1]}`);
}

const flat = (...texts: (string | null)[]) => new FlatVector(texts);

/** Texts as they are in a response. */
function asBytes(texts: readonly string[]): Utf8Vector {
  const bytes = Buffer.from(texts.join(''));
  let at = 0;
  const bounds = texts.flatMap((text) => [at, (at += Buffer.byteLength(text))]);
  return new Utf8Vector(bytes, Int32Array.from(bounds), 0, 2, texts.length);
}

describe('rowDigests', () => {
  test('are the same for any kind of vector, any order of columns, and columns of nulls', () => {
    fc.assert(
      fc.property(fc.array(anyText(), { maxLength: 20 }), (given) => {
        const texts = given.filter((text) => text.isWellFormed());
        const rows = texts.length;
        const expected = digests({ a: flat(...texts), b: flat(...texts.toReversed()) }, rows);
        const values = [...new Set(texts)];
        const dictionary = new DictionaryVector(
          values,
          Uint16Array.from(texts, (text) => values.indexOf(text)),
        );
        expect(digests({ a: dictionary, b: asBytes(texts.toReversed()) }, rows)).toEqual(expected);
        expect(digests({ b: flat(...texts.toReversed()), n: FlatVector.ofNulls(rows), a: asBytes(texts) }, rows)).toEqual(expected);
      }),
    );
  });

  test.each([
    ['a value in another column', { a: flat('x', null), b: flat(null, 'x') }],
    ['values that change places', { a: flat('x', 'y'), b: flat('y', 'x') }],
    ['null and the empty text', { a: flat(null, '') }],
    ['zeros at the end', { a: flat('x', 'x\0') }],
    ['parts of a word', { a: flat('abcd', 'abc') }],
    ['texts whose length is beyond a byte', { a: flat('\0'.repeat(256), '\0'.repeat(512)) }],
  ])('distinguish %s', (_, columns) => {
    const [one, other] = digests(columns, 2);
    expect(one).not.toBe(other);
  });

  test('depend on the secret', () => {
    expect(digests({ a: flat('x') }, 1, 1)).not.toEqual(digests({ a: flat('x') }, 1, 2));
  });

  test('follow a dictionary that grows, and another one', () => {
    const digestsOf = rowDigests([{ name: 'a' }], seeded(1));
    const values = ['x'];
    const first = digestsOf(1, [new DictionaryVector(values, Uint16Array.of(0))]);
    values.push('y');
    const both = digestsOf(2, [new DictionaryVector(values, Uint16Array.of(1, 0))]);
    const other = digestsOf(1, [new DictionaryVector(['y'], Uint16Array.of(0))]);
    expect([...both.subarray(2)]).toEqual([...first]);
    expect([...both.subarray(0, 2)]).toEqual([...other]);
    expect([...first]).not.toEqual([...other]);
  });
});
