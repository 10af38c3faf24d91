import { GateError, type Violation } from '../../core/index.js';

/** What one gate found. */
export interface GateResult {
  /** `consistency`, `max_read_shrink`, `strict`, `books`, `min_match`, `rejects`, `schema`, or `expect.…` as in the file. */
  readonly gate: string;
  /** What it looked at, where there are several: a list, a step or a sink. */
  readonly at: string | undefined;
  readonly passed: boolean;
  /** What it has against publishing; none when it passed. */
  readonly violations: readonly Violation[];
}

export function gateResult(gate: string, at: string | undefined, violations: readonly Violation[]): GateResult {
  return { gate, at, passed: violations.length === 0, violations };
}

/** All that was refused, as one error; `undefined` when that is nothing. */
export function refusalOf(gates: readonly GateResult[]): GateError | undefined {
  return GateError.of(gates.flatMap(({ violations }) => violations));
}
