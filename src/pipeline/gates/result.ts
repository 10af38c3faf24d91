import { GateError, type Violation, type Warning } from '../../core/index.js';

/** What one gate found. */
export interface GateResult {
  /** `consistency`, `max_read_shrink`, `strict`, `books`, `min_match`, `rejects`, `schema`, or `expect.…` as in the file. */
  readonly gate: string;
  /** What it looked at, where there are several: a list, a step or a sink. */
  readonly at: string | undefined;
  /**
   * `overridden`: `--allow-shrink` lets pass what is violated. `not compared`: no earlier run is known, or a limit stopped the read.
   * `not checked`: nobody looked whether the list changed, since `consistency` is off, or a limit stopped the read.
   */
  readonly outcome: 'passed' | 'refused' | 'overridden' | 'not compared' | 'not checked';
  /** What it has against publishing; none when it passed. */
  readonly violations: readonly Violation[];
  /** Of `max_read_shrink`, how many rows the list had, and how many before. */
  readonly rows?: number;
  readonly rowsBefore?: number;
}

export function gateResult(gate: string, at: string | undefined, violations: readonly Violation[]): GateResult {
  return { gate, at, outcome: violations.length === 0 ? 'passed' : 'refused', violations };
}

/** A gate that looks at what earlier runs counted. */
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
 * Lets a run publish, and warns of what it publishes in spite of a gate, since an option says so.
 *
 * @throws {GateError} All that was refused, as one error.
 */
export function passGates(gates: readonly GateResult[], warn: (warning: Warning) => void): void {
  const violationsThat = (outcome: GateResult['outcome']) => gates.flatMap((gate) => (gate.outcome === outcome ? gate.violations : []));
  const refusal = GateError.of(violationsThat('refused'));
  if (refusal) throw refusal;
  for (const { message } of violationsThat('overridden'))
    warn({ code: 'W_GATE_OVERRIDDEN', message: `overridden by --allow-shrink: ${message}` });
}
