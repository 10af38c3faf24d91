import { amount, amountOf } from '../../core/index.js';
import { part, percent, share } from '../units.js';
import { defineGate, type Measured } from './gate.js';

export const maxShrink = defineGate('max_shrink', {
  schema: () => part().optional().describe("How much smaller than the last run's an output may be, like 20%. The first run passes."),
  set: (most) => ({
    judges: 'outputs',
    overridable: true,
    refuse: (output) => {
      const refused = refusedChange('max_shrink', most, 'smaller', output);
      return refused === undefined ? undefined : `${refused}; run --allow-shrink publishes it once`;
    },
  }),
});

export const maxGrowth = defineGate('max_growth', {
  schema: () =>
    share()
      .optional()
      .describe(
        "How much bigger than the last run's an output may be, like 50%. The first run passes, and so does one after an empty output.",
      ),
  set: (most) => ({
    judges: 'outputs',
    overridable: false,
    refuse: (output) => refusedChange('max_growth', most, 'bigger', output),
  }),
});

/** Describes what is wrong with the size of an output compared to the last run's. */
function refusedChange(gate: string, most: number, way: 'smaller' | 'bigger', { at, total, earlier }: Measured): string | undefined {
  if (earlier === undefined || earlier.rows === 0) return undefined;
  const growth = total / earlier.rows - 1;
  const change = way === 'smaller' ? -growth : growth;
  if (change <= most) return undefined;
  const found = `found ${amountOf(total, 'row')}, previously ${amount(earlier.rows)} (${percent(change)} ${way})`;
  return `${at}: expect.${gate}: the output may be at most ${percent(most)} ${way} than the last run's, ${found}`;
}
