import { GateError, type Refusal, type Warning } from '../errors.js';
import { driftOf, refuseUnstable } from '../source/index.js';
import type { Accounts } from './accounts.js';
import { refuseBooks } from './books.js';
import type { Expectations } from './expectations.js';
import type { Output } from './outputs.js';
import type { Pipeline } from './pipeline.js';
import type { Rejects } from './rejects.js';
import type { RunReport } from './report.js';
import { refuseChanges } from './schema.js';

/** What a run is judged by. */
export interface Case {
  readonly pipeline: Pipeline;
  readonly report: RunReport;
  readonly accounts: Accounts;
  readonly outputs: readonly Output[];
  readonly rejects: Rejects;
  readonly expectations: Expectations | undefined;
}

/**
 * Checks everything that stands between a read and its publication, to the end: whoever has to act sees all of it at once.
 *
 * @param warn Told of what is recognised and is no failure.
 * @throws {GateError} When the read is unstable, books do not balance, a join found too few matches, too many rows were rejected,
 * frozen columns changed, or rows are not as expected; with one line per gate, and the code of the first.
 */
export function judge(run: Case, warn: (warning: Warning) => void): void {
  const { pipeline, report, accounts, outputs, rejects, expectations } = run;
  const reads = [{ at: report.collection, consistency: report.consistency }, ...accounts.sides];
  const warnings = [...reads.flatMap(({ at, consistency }) => driftOf(at, consistency)), ...accounts.fieldWarnings()];
  const strict = pipeline.connection.strict ?? false;
  if (!strict) warnings.forEach(warn);

  const failure = GateError.of([
    ...(pipeline.consistency.allowUnstable ? [] : reads.flatMap(({ at, consistency }) => refuseUnstable(at, consistency))),
    ...(strict ? warnings.map(refuseWarning) : []),
    ...report.sinks.flatMap(({ at, books }) => refuseBooks(at, books)),
    ...accounts.steps.flatMap(({ step, tally }) => {
      const refusal = step.gate(tally);
      return refusal === undefined ? [] : [{ code: 'E_GATE_MATCH', message: `${step.at}: ${refusal}` } as const];
    }),
    ...rejects.refuse(report.rejects.rows, report.read + report.consistency.repaired),
    ...(pipeline.schema === 'freeze' ? refuseColumns(accounts, outputs) : []),
    ...(expectations?.refuse(outputs.map(({ at, staged, earlier }) => ({ at, total: staged.total, earlier }))) ?? []),
  ]);
  if (failure) throw failure;
}

function refuseWarning({ code, message }: Warning): Refusal {
  return { code: 'E_GATE_STRICT', message: `${code}: ${message}` };
}

/** A field that came too late for a column is as new as one of page 1. */
function refuseColumns(accounts: Accounts, outputs: readonly Output[]): readonly Refusal[] {
  const undeclared = accounts.undeclared();
  const columns = accounts.columns(undeclared);
  return refuseChanges(
    outputs.map(({ at, writes, earlier }) => ({ at, columns: writes(columns), earlier })),
    new Set([...undeclared, ...outputs.flatMap(({ earlier }) => earlier?.undeclared ?? [])].map(({ original }) => original)),
  );
}
