import { amountOf, schema, type Violation } from '../../core/index.js';
import type { Tally } from '../../flow/index.js';
import { rowsOf } from '../fields.js';
import type { StepRemark } from '../step.js';

/** Numbers of rows with and without a match. */
type Matches = Readonly<Pick<Tally, 'matched' | 'missed'>>;

/** A share of rows, as text. */
export const share = schema((z) => z.string().regex(/^(?:100|\d{1,2}(?:\.\d+)?)%$/, 'write a share like 95%'));

/** Checks a tally against a minimum share of matches. @param wanted As `share`. */
export function matchGate(wanted: string, { matched, missed }: Matches): (Violation & { readonly code: 'E_GATE_MATCH' }) | undefined {
  const rows = matched + missed;
  const found = rows === 0 ? 100 : (100 * matched) / rows;
  if (found >= Number.parseFloat(wanted)) return undefined;
  const message = `${(Math.floor(found * 100) / 100).toFixed(2)}% of ${amountOf(rows, 'row')} matched, expected at least ${wanted}`;
  return { code: 'E_GATE_MATCH', message };
}

/** Warns about a join in which no row found a match. @param gate The option that refuses it. */
export function noMatch({ matched, missed }: Matches, other: string, gate: string): StepRemark | undefined {
  return matched === 0 && missed > 0
    ? { code: 'W_STEP_NO_MATCH', message: `none of ${rowsOf(missed)} found a match in ${other}; ${gate} refuses that` }
    : undefined;
}
