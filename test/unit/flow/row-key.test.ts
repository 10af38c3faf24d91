import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Row, Value } from '../../../src/collections/index.js';
import { keyIn, keyOf } from '../../../src/flow/index.js';
import { tableOf } from '../../support/tables.js';

const texts = fc.constantFrom<Value>('', '1', '1:x', ' X', 'x', 'é');
const anything = fc.oneof(texts, fc.constantFrom<Value>(null, 1n, true, 1.5, new Date(0), 'a\0b'));
const cell = fc.constantFrom(texts, anything);
const rows: fc.Arbitrary<readonly Row[]> = fc.record({ a: cell, b: cell, c: cell }).chain((values) => fc.array(fc.record(values)));

test.each([[['a']], [['b', 'a']], [['c', 'a', 'b']], [['a', 'd']], [[]]])(
  'the key %j of a row of a table is that of the row',
  (columns) => {
    fc.assert(
      fc.property(
        rows,
        fc.constantFrom(undefined, (text: string) => text.trim().toLowerCase()),
        (some, normalize) => {
          const expected = some.map((row) => keyOf(row, columns, normalize));
          for (const content of [tableOf(some), some])
            expect(some.map((_, row) => keyIn(content, columns, normalize)(row))).toEqual(expected);
        },
      ),
    );
  },
);
