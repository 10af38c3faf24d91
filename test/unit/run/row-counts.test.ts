import { describe, expect, test } from '@jest/globals';
import { rowCountsOf, refuseCounts } from '../../../src/run/ledger.js';
import { summaryOf, type RunReport } from '../../../src/run/index.js';
import { emptyTally } from '../../../src/flow/index.js';
import { newConsistency } from '../../../src/core/index.js';

describe('the row counts of a sink', () => {
  const read = { read: 10, repaired: 0, duplicates: 0 };

  test('balance when rows that it has already are counted', () => {
    const books = rowCountsOf(read, { ...emptyTally(), filtered: 1 }, { written: 4, rejected: 2, unchanged: 3 });
    expect(books).toMatchObject({ written: 4, unchanged: 3 });
    expect(refuseCounts('to[0] parquet', books)).toEqual([]);
  });

  test('are refused with both sides of the sum when a row is missing', () => {
    const books = rowCountsOf(read, emptyTally(), { written: 4, rejected: 2, unchanged: 3 });
    expect(refuseCounts('to[0] parquet', books)).toEqual([
      {
        code: 'E_GATE_BOOKS',
        message:
          'to[0] parquet: read 10 + repaired 0 + expanded 0 + groups 0 = 10, but written 4 + filtered 0 + duplicates 0 + beyond the limit 0 + unmatched 0 + rejected 2 + unchanged 3 + grouped 0 = 9',
      },
    ]);
  });

  test('balance when rows that a limit cut off are counted, which the summary tells', () => {
    const books = rowCountsOf(read, { ...emptyTally(), beyondLimit: 6 }, { written: 4, rejected: 0, unchanged: 0 });
    expect(refuseCounts('to[0] csv', books)).toEqual([]);
    const sink = { at: 'to[0] csv', path: '/t', bytes: 5, total: 4, changed: 0, nulled: 0, books };
    const steps = [{ at: 'steps[0] limit', tally: { ...emptyTally(), beyondLimit: 6 } }];
    const summary = summaryOf({ ...report, sinks: [sink], steps });
    expect(summary).toContain('to[0] csv: 10 read = 4 written + 6 beyond the limit, 5 bytes -> /t');
    expect(summary).toContain('steps[0] limit: beyond the limit 6');
  });

  test('balance when rows that became groups are counted, which the summary tells', () => {
    const tally = { ...emptyTally(), grouped: 10, groups: 3 };
    const books = rowCountsOf(read, tally, { written: 2, rejected: 1, unchanged: 0 });
    expect(refuseCounts('to[0] csv', books)).toEqual([]);
    expect(refuseCounts('to[0] csv', { ...books, groups: 4 })).toHaveLength(1);
    expect(refuseCounts('to[0] csv', { ...books, grouped: 9 })).toHaveLength(1);
    const sink = { at: 'to[0] csv', path: '/t', bytes: 5, total: 2, changed: 0, nulled: 0, books };
    const summary = summaryOf({ ...report, sinks: [sink], steps: [{ at: 'steps[0] aggregate', tally }] });
    expect(summary).toContain('to[0] csv: 10 read + 3 groups = 2 written + 1 rejected + 10 grouped, 5 bytes -> /t');
    expect(summary).toContain('steps[0] aggregate: grouped 10, groups 3');
  });
});

const findings = { unknown: {}, late: [], gone: [], missing: {}, notText: {} };
const report: RunReport = {
  pipeline: 'p',
  runId: 'r',
  collection: 'leads',
  startedAt: '2024-01-01T00:00:00.000Z',
  finishedAt: '2024-01-01T00:00:01.000Z',
  pages: 1,
  read: 10,
  partial: false,
  resumed: 0,
  since: '2026-01-01T00:00:00.000Z',
  sinks: [],
  steps: [],
  findings,
  warnings: [],
  consistency: newConsistency(),
  sides: [],
  lookups: [],
  gates: [],
  rejects: { path: undefined, rows: 0 },
};
