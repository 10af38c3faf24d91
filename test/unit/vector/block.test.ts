import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Value } from '../../../src/core/index.js';
import { batchFromRows, decodeBlock, encodeBlock } from '../../../src/vector/index.js';
import { batchOfTexts, dictionaryBatches } from '../../support/batches.js';

const values = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom<Value>(null, '', '\ud800', true, false, 2n ** 62n, -1n, 0, -0, 5e-324, new Date(0), new Date(-1), new Date(Number.NaN)),
  fc.date({ noInvalidDate: true }),
  fc.double(),
);

test('a block has the values of its batch, instants and numbers of all kinds included', () => {
  const rows = fc.array(fc.record({ a: values, b: fc.string(), c: fc.date({ noInvalidDate: true }) }), { maxLength: 8 });
  fc.assert(
    fc.property(rows, fc.constantFrom(batchFromRows, batchOfTexts, dictionaryBatches(false)), (some, of) => {
      const { columns, length } = of(some);
      const restored = decodeBlock(encodeBlock(of(some)));
      expect(restored.length).toBe(length);
      expect([...restored.columns.keys()]).toEqual([...columns.keys()]);
      for (const [name, vector] of columns) {
        for (let row = 0; row < length; row += 1) {
          const [got, given] = [restored.column(name).value(row), vector.value(row)];
          if (given instanceof Date) expect(got instanceof Date && Object.is(got.getTime(), given.getTime())).toBe(true);
          else expect(Object.is(got, given)).toBe(true);
        }
      }
    }),
  );
});
