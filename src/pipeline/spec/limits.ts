import { amount, amountOf } from '../../core/index.js';
import { gatesIn, type Expect } from '../gates/expect.js';
import type { Problem } from './references.js';

/** What is known about a step that may limit the rows. */
interface Limiting {
  readonly at: string;
  readonly blocking: boolean;
  readonly most: number | undefined;
  readonly addsRows: boolean;
}

/** Returns the first step that has a limit and no blocking step before it. */
export function stopOf<S extends Limiting>(steps: readonly S[]): S | undefined {
  const blocking = steps.findIndex(({ blocking }) => blocking);
  return steps.slice(0, blocking < 0 ? steps.length : blocking).find(({ most }) => most !== undefined);
}

/** Reports expectations that need more rows than limits allow. */
export function refuseLimits(expect: Expect, steps: readonly Limiting[], problem: Problem): void {
  const stop = stopOf(steps);
  for (const gate of gatesIn(expect)) {
    if (gate.judges === 'rows') steps.forEach((step, index) => refuseFewer(gate, step, steps.slice(index + 1), problem));
    else if (stop) {
      const message = `${gate.name} compares whole reads, and ${stop.at} stops this one; remove one of them, or put the limit after a sort, which reads everything`;
      problem(['expect', gate.name], message, true);
    }
  }
}

/** Reports a gate that needs more rows than a step passes, unless a later step adds some. */
function refuseFewer(
  { name, fewest }: { readonly name: string; readonly fewest: number },
  { at, most = Infinity }: Limiting,
  later: readonly Limiting[],
  problem: Problem,
): void {
  if (fewest <= most || later.some(({ addsRows }) => addsRows)) return;
  const message = `${at} passes at most ${amountOf(most, 'row')}, so there are never ${amount(fewest)}; lower ${name} or raise the limit`;
  problem(['expect', name], message);
}
