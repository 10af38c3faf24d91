import { amount, amountOf, type Column, type Row } from '../../../core/index.js';
import { emptyTally, pageOf } from '../../../flow/index.js';
import { batchFromRows } from '../../../vector/index.js';
import { openExpectations } from '../../gates/expectations.js';
import type { Pipeline } from '../../spec/pipeline.js';
import { maxOf } from '../../spec/units.js';
import type { RowExplanation, RowGate } from './explanation.js';

/** What happened to the record. */
export interface Passed extends Pick<RowExplanation, 'steps' | 'outputs'> {
  /** The columns that leave the last step. */
  readonly leaving: readonly Column[];
  readonly rows: readonly Row[];
}

/** A number of rows so large that a single row is negligible for any share that a gate allows. */
const many = 1e12;

/**
 * Returns the gates for which a record is sufficient, in a collection of any size. Gates that depend
 * on shares of all rows, or on earlier runs, are not evaluated.
 */
export function gatesOf(pipeline: Pipeline, passed: Passed): readonly RowGate[] {
  return [...matchGates(pipeline, passed), ...rejectsGate(pipeline, passed), ...expectGates(pipeline, passed)];
}

function matchGates({ plan }: Pipeline, { steps }: Passed): readonly RowGate[] {
  const missedAt = new Map(steps.map(({ at, join }) => [at, join?.missed ?? 0]));
  return plan.steps.flatMap((step): readonly RowGate[] => {
    const missed = missedAt.get(step.at) ?? 0;
    const found = missed > 0 ? step.gate({ ...emptyTally(), matched: many, missed }) : undefined;
    return found?.violation ? [{ gate: found.gate, message: `${step.at}: every row must match` }] : [];
  });
}

function rejectsGate({ rejects }: Pipeline, { steps, outputs }: Passed): readonly RowGate[] {
  // Counted as in a run: a row rejected by two outputs counts once.
  const rejected = steps.reduce((sum, step) => sum + step.rejected, 0) + Math.max(0, ...outputs.map(({ counts }) => counts.rejected));
  const max = Math.floor(maxOf(rejects.max, many));
  if (rejected <= max) return [];
  const most = max === 0 ? 'no row may be rejected' : `${amountOf(rejected, 'row')} are rejected, and at most ${amount(max)} may be`;
  return [{ gate: 'rejects', message: `rejects.max: ${most}` }];
}

function expectGates({ expect }: Pipeline, { leaving, rows }: Passed): readonly RowGate[] {
  if (!expect || rows.length === 0) return [];
  const expectations = openExpectations(expect, leaving);
  expectations.observe(pageOf(1, batchFromRows(rows), { release: () => {} }));
  return expectations.resultsAlone().flatMap(({ gate, violations }) => violations.map(({ message }) => ({ gate, message })));
}
