import { amount, counted, outcomes, type Warning } from '../core/index.js';
import type { Tally } from '../flow/index.js';
import type { GateInput } from './gate-input.js';

/**
 * Returns warnings about results that are probably unintended: steps that leave no rows, and outputs whose rows were all rejected.
 *
 * @param refused Whether `rejects` refuses the run, which makes a warning about rejected rows redundant.
 */
export function remarksOf(run: GateInput, refused: boolean): readonly Warning[] {
  const flow = flowOf(run);
  const last = flow.steps.find(
    ({ step, tally, arrived, left }) => arrived > 0 && left === 0 && tally.rejected > 0 && !step.remark(tally, arrived),
  );
  const rejecting = last && whyEmpty(last);
  return [...flow.steps.flatMap((passed) => remarkOf(run, passed)), ...run.outputs.flatMap(emptyOutput)];

  function emptyOutput({ at, prepared, rejected }: GateInput['outputs'][number]): readonly Warning[] {
    const why = rejected > 0 && rejected === flow.left ? `it ${everyRow(rejected)}` : rejecting;
    if (refused || prepared.total > 0 || why === undefined) return [];
    return [{ code: 'W_SINK_EMPTY', message: `${at}: no row was written, because ${why}; a lower rejects.max would refuse this` }];
  }
}

/** A step with the number of rows that arrived at it and that left it. */
type Passed = GateInput['ledger']['steps'][number] & { readonly arrived: number; readonly left: number };

/** Returns the number of rows before and after each step. */
function flowOf({ report, ledger }: GateInput): { readonly steps: readonly Passed[]; readonly left: number } {
  let left = report.read + report.consistency.repaired - report.consistency.duplicates;
  const steps = ledger.steps.map((step): Passed => {
    const arrived = left;
    left += step.tally.expanded + step.tally.groups - goneIn(step.tally);
    return { ...step, arrived, left };
  });
  return { steps, left };
}

/** Returns the remark of a step, unless an empty other side already explains it. */
function remarkOf({ pipeline, ledger }: GateInput, { step, tally, arrived }: Passed): readonly Warning[] {
  const remark = step.remark(tally, arrived);
  if (remark === undefined) return [];
  const isKnown =
    remark.code === 'W_STEP_EMPTY'
      ? pipeline.expect?.min_rows !== undefined
      : ledger.sides.some(({ at, rows }) => at === step.at && rows === 0);
  return isKnown ? [] : [{ ...remark, message: `${step.at}: ${remark.message}` }];
}

/** Returns the number of rows that arrived at a step and did not leave it. */
function goneIn({ filtered, duplicates, beyondLimit, unmatched, rejected, grouped }: Tally): number {
  return filtered + duplicates + beyondLimit + unmatched + rejected + grouped;
}

function whyEmpty({ step, tally, arrived }: Passed): string {
  if (tally.rejected === arrived) return `${step.at} ${everyRow(arrived)}`;
  const parts = counted(tally, outcomes).map(([word, rows]) => `${word} ${amount(rows)}`);
  return `no row came out of ${step.at}: ${parts.join(', ')}`;
}

function everyRow(rows: number): string {
  return `rejected every row (${amount(rows)})`;
}
