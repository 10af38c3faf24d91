/** What the table of aggregates takes as an entry; `tsc --noEmit` is the test. */
import type { DeclaredType } from '../../src/core/index.js';
import { Counts } from '../../src/steps/aggregate/counts.js';
import { DistinctCounts, DistinctValues } from '../../src/steps/aggregate/distinct-values.js';
import type { AggregateFunction } from '../../src/steps/aggregate/functions.js';

const said = { summary: 'a result', aliases: [], takes: 'values', gives: 'count' } as const;

({ ...said, keeps: 'state', open: () => new Counts() }) satisfies AggregateFunction;
({
  ...said,
  keeps: 'values',
  open: (type: DeclaredType) => new DistinctValues(type),
  merging: () => new DistinctCounts(),
}) satisfies AggregateFunction;

// @ts-expect-error Nothing says how it accumulates.
said satisfies AggregateFunction;
// @ts-expect-error It has values and no state that can be merged.
({ ...said, keeps: 'state', open: (type: DeclaredType) => new DistinctValues(type) }) satisfies AggregateFunction;
// @ts-expect-error Nothing says how the values are merged that were stored.
({ ...said, keeps: 'values', open: (type: DeclaredType) => new DistinctValues(type) }) satisfies AggregateFunction;
// @ts-expect-error It has no values to be stored.
({ ...said, keeps: 'values', open: () => new Counts(), merging: () => new DistinctCounts() }) satisfies AggregateFunction;
