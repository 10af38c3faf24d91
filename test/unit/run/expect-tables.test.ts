import fc from 'fast-check';
import type { Column, Row, Value } from '../../../src/core/index.js';
import { openExpectations } from '../../../src/run/gates.js';
import { pageOf } from '../../support/pages.js';
import { pageWithoutRows, batchOfTexts } from '../../support/batches.js';

const columns: readonly Column[] = [
  { name: 'a', original: 'a', type: 'text', cast: false, sensitivity: 'plain' },
  { name: 'b', original: 'b', type: 'date', cast: true, sensitivity: 'plain' },
  { name: 'c', original: 'c', type: 'text', cast: false, sensitivity: 'personal' },
];

/** Gates that refuse what they count, so that every count is told. */
const gates = {
  max_null: { a: { rows: 0 }, b: { share: 0 } },
  not_null: ['c'],
  unique: ['a', 'b', ['a', 'c'], ['c', 'b', 'a']],
  accepted_values: { a: ['1', 'x'], b: ['2024-02-29', '17'], c: ['1'] },
};

const texts = ['', '1', '2', 'x', '11', 'é', 'a text of more than sixty-four bytes, which is remembered by nobody at all'];
const others: readonly Value[] = [null, 17n, true, 1.5, new Date('2024-02-29'), 'a\0b'];
const cell = fc.oneof(fc.constant(fc.constantFrom<Value>(...texts)), fc.constant(fc.constantFrom<Value>(...texts, ...others)));
const rowsOfPage: fc.Arbitrary<readonly Row[]> = fc
  .record({ a: cell, b: cell, c: cell })
  .chain((values) => fc.array(fc.record(values), { maxLength: 8 }));

test('the gates say of tables what they say of their rows, and make no rows', () => {
  fc.assert(
    fc.property(fc.array(rowsOfPage, { maxLength: 3 }), (lists) => {
      const [byRows, byColumns] = [openExpectations(gates, columns), openExpectations(gates, columns)];
      lists.forEach((rows, index) => {
        byRows.observe(pageOf(index + 1, rows));
        byColumns.observe(pageWithoutRows(index + 1, batchOfTexts(rows)));
      });
      expect(byColumns.results([], false)).toEqual(byRows.results([], false));
    }),
  );
});
