import { GateError, type Violation, type Warning } from '../core/index.js';

/** The result of one gate. */
export interface GateResult {
  /** `consistency`, `max_read_shrink`, `strict`, `books`, `min_match`, `rejects`, `schema`, or `expect.…` as in the file. */
  readonly gate: string;
  /** The list, step or sink that it checked, if there are several. */
  readonly at: string | undefined;
  /**
   * `overridden`: `--allow-shrink` permits the violation. `not compared`: no earlier run is known, or a limit stopped the read. `not checked`: changes of the
   * list were not checked, because `consistency` is off, or a limit stopped the read.
   */
  readonly outcome: 'passed' | 'refused' | 'overridden' | 'not compared' | 'not checked';
  /** Reasons against publishing; empty if it passed. */
  readonly violations: readonly Violation[];
  /** For `max_read_shrink`: number of rows of the list, now and before. */
  readonly rows?: number;
  readonly rowsBefore?: number;
}

export function gateResult(gate: string, at: string | undefined, violations: readonly Violation[]): GateResult {
  return { gate, at, outcome: violations.length === 0 ? 'passed' : 'refused', violations };
}

/** Returns the result of a gate that compares with the counts of earlier runs. */
export function comparedResult(
  gate: string,
  at: string | undefined,
  violations: readonly Violation[],
  { compared, allowed }: { /** Whether there was anything to compare with. */ readonly compared: boolean; readonly allowed: boolean },
): GateResult {
  const outcome = violations.length > 0 ? (allowed ? 'overridden' : 'refused') : compared ? 'passed' : 'not compared';
  return { gate, at, outcome, violations };
}

/**
 * Allows a run to publish, and warns of violations that an option overrides.
 *
 * @throws {GateError} All refusals, as one error.
 */
export function passGates(gates: readonly GateResult[], warn: (warning: Warning) => void): void {
  const violationsThat = (outcome: GateResult['outcome']) => gates.flatMap((gate) => (gate.outcome === outcome ? gate.violations : []));
  const refusal = GateError.of(violationsThat('refused'));
  if (refusal) throw refusal;
  for (const { message } of violationsThat('overridden'))
    warn({ code: 'W_GATE_OVERRIDDEN', message: `overridden by --allow-shrink: ${message}` });
}
