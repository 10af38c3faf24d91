import { rowMaker } from '../../../src/vector/record-batch.js';
import type { Row, Value } from '../../../src/core/index.js';
import fc from 'fast-check';
import { batchFromRows, keyOf, keysOf } from '../../../src/vector/index.js';
import { batchOfTexts } from '../../support/batches.js';

const odd = ['"', '\\', '`${x}`', '\u2028', '\ud800', '', '0', '__proto__', ']; throw 1; //'];
const parsed = (text: string): Row => JSON.parse(text);
/** An object with a field of any name, even `__proto__`. */
const withField = (name: string, value: string) => parsed(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`);

test.each(odd)('rowMaker makes a field of the name %j, and never takes values for code', (name) => {
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

test.each(odd)('a batch of rows reads the name %j', (name) => {
  expect([...batchFromRows([withField(name, 'v')]).columns].map(([column, vector]) => [column, vector.toArray()])).toEqual([[name, ['v']]]);
});

const value = fc.constantFrom<Value>('', 'x', null, 1n, true);
const row = fc.dictionary(fc.constantFrom('a', 'b', '7', 'constructor', '__proto__', 'toString'), value);

test('rows as a batch are what they were, with null for what one of them does not have', () => {
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

const texts = fc.constantFrom<Value>('', '1', '1:x', ' X', 'x', 'é');
const anything = fc.oneof(texts, fc.constantFrom<Value>(null, 1n, true, 1.5, new Date(0), 'a\0b'));
const cell = fc.constantFrom(texts, anything);
const rows: fc.Arbitrary<readonly Row[]> = fc.record({ a: cell, b: cell, c: cell }).chain((values) => fc.array(fc.record(values)));

test.each([[['a']], [['b', 'a']], [['c', 'a', 'b']], [['a', 'd']], [[]]])(
  'the key %j of a row of a batch is that of its values',
  (columns) => {
    fc.assert(
      fc.property(
        rows,
        fc.constantFrom(undefined, (text: string) => text.trim().toLowerCase()),
        (some, normalize) => {
          const valuesOf = (row: Row) => columns.map((name) => row[name] ?? null);
          const expected = some.map((row) => keyOf(valuesOf(row), normalize));
          for (const batch of [batchOfTexts(some), batchFromRows(some)])
            expect(some.map((_, row) => keysOf(batch, columns, normalize)(row))).toEqual(expected);
        },
      ),
    );
  },
);
