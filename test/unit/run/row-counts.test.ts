import { describe, expect, test } from '@jest/globals';
import { rowCountsOf, refuseCounts } from '../../../src/run/ledger.js';
import { emptyTally } from '../../../src/flow/index.js';

describe('the row counts of a sink', () => {
  const read = { read: 10, repaired: 0, duplicates: 0 };

  test('balance when rows that it has already are counted', () => {
    const books = rowCountsOf(read, [{ ...emptyTally(), filtered: 1 }], { written: 4, rejected: 2, unchanged: 3 });
    expect(books).toMatchObject({ written: 4, unchanged: 3 });
    expect(refuseCounts('to[0] parquet', books)).toEqual([]);
  });

  test('are refused with both sides of the sum when a row is missing', () => {
    const books = rowCountsOf(read, [emptyTally()], { written: 4, rejected: 2, unchanged: 3 });
    expect(refuseCounts('to[0] parquet', books)).toEqual([
      {
        code: 'E_GATE_BOOKS',
        message:
          'to[0] parquet: read 10 + repaired 0 + expanded 0 + groups 0 = 10, but written 4 + filtered 0 + duplicates 0 + beyond the limit 0 + unmatched 0 + rejected 2 + unchanged 3 + grouped 0 = 9',
      },
    ]);
  });
});
