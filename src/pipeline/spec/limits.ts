import { amount, amountOf } from '../../core/index.js';
import type { Expect } from '../gates/expect.js';
import type { Problem } from './references.js';

/** What is known of a step that may let some rows pass only. */
interface Limiting {
  readonly at: string;
  readonly blocking: boolean;
  readonly most: number | undefined;
  readonly addsRows: boolean;
}

/** The first step that has a limit and no blocking step before it. */
export function stopOf<S extends Limiting>(steps: readonly S[]): S | undefined {
  const blocking = steps.findIndex(({ blocking }) => blocking);
  return steps.slice(0, blocking < 0 ? steps.length : blocking).find(({ most }) => most !== undefined);
}

const comparing = ['max_shrink', 'max_growth', 'max_read_shrink'] as const satisfies readonly (keyof Expect)[];

/** Reports the expectations that need more rows than limits leave. */
export function refuseLimits(expect: Expect, steps: readonly Limiting[], problem: Problem): void {
  const stop = stopOf(steps);
  for (const gate of comparing) {
    if (!stop || expect[gate] === undefined) continue;
    const message = `${gate} compares whole reads, and ${stop.at} stops this one; leave one of them out, or put the limit after a sort, which reads everything`;
    problem(['expect', gate], message, true);
  }
  const { min_rows: fewest = 0 } = expect;
  steps.forEach(({ at, most = Infinity }, index) => {
    if (fewest <= most || steps.slice(index + 1).some(({ addsRows }) => addsRows)) return;
    problem(
      ['expect', 'min_rows'],
      `${at} lets ${amountOf(most, 'row')} pass, so there are never ${amount(fewest)}; lower min_rows or raise the limit`,
    );
  });
}
