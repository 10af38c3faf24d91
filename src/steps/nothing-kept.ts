import type { Tally } from '../flow/index.js';
import { rowsOf } from './fields.js';
import type { StepRemark } from './step.js';

/** Warns about a step that left out every row it received. */
export function nothingKept({ filtered, rejected }: Tally, arrived: number): StepRemark | undefined {
  return filtered > 0 && filtered + rejected === arrived
    ? { code: 'W_STEP_EMPTY', message: `none of ${rowsOf(arrived)} is kept; expect.min_rows refuses that` }
    : undefined;
}
