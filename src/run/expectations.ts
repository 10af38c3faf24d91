import type { Column, Violation } from '../core/index.js';
import { batchOf, type Page } from '../flow/index.js';
import { gatesIn, type Expect, type Check, type Measured, type OutputsGate } from '../plan/index.js';
import { comparedResult, gateResult, type GateResult } from './result.js';

/** The gates of `expect` during a run. */
export interface Expectations {
  /** Counts the rows of a page that leaves the last step. */
  observe(page: Page): void;
  /** Returns the result of each gate, for the rows that it saw or for the outputs. */
  results(outputs: readonly Measured[]): readonly GateResult[];
}

/**
 * Opens the gates of `expect`. Holds counts in memory, plus what the gates declare.
 *
 * @param columns The columns that leave the last step.
 */
export function openExpectations(expect: Expect, columns: readonly Column[]): Expectations {
  let rows = 0;
  const gates = gatesIn(expect);
  const checks = gates.flatMap((gate) => (gate.judges === 'rows' ? gate.open(columns) : []));
  const resultOf = (check: Check) => gateResult(`expect.${check.gate}`, undefined, violationsOf(check.refuse(rows)));
  return {
    observe: (page) => {
      const batch = batchOf(page);
      rows += batch.length;
      for (const check of checks) check.observe(batch);
    },
    results: (outputs) => [
      ...checks.map(resultOf),
      ...gates.flatMap((gate) => (gate.judges === 'outputs' ? outputs.map((output) => resultOfOutput(gate, output)) : [])),
    ],
  };
}

function resultOfOutput({ name, overridable, refuse }: OutputsGate & { readonly name: string }, output: Measured): GateResult {
  const { at, earlier, mayShrink = false } = output;
  const options = { compared: earlier !== undefined, allowed: overridable && mayShrink };
  return comparedResult(`expect.${name}`, at, violationsOf(refuse(output)), options);
}

function violationsOf(message: string | undefined): readonly Violation[] {
  return message === undefined ? [] : [{ code: 'E_GATE_EXPECT', message }];
}
