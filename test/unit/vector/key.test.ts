import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Row, Value } from '../../../src/core/index.js';
import { batchFromRows, keyOf, keysOf } from '../../../src/vector/index.js';
import { batchOfTexts } from '../../support/batches.js';

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
          const expected = some.map((row) =>
            keyOf(
              columns.map((name) => row[name] ?? null),
              normalize,
            ),
          );
          for (const batch of [batchOfTexts(some), batchFromRows(some)])
            expect(some.map((_, row) => keysOf(batch, columns, normalize)(row))).toEqual(expected);
        },
      ),
    );
  },
);
