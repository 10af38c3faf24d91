import { amountOf, type Violation, type Warning, type Consistency } from '../core/index.js';

/** Returns why a read must not be published: rows may be missing, and no number of passes could rule that out. */
export function refuseUnstable(at: string, { outcome, passes, unordered, drift }: Consistency): readonly Violation[] {
  if (outcome !== 'unstable') return [];
  const why = unordered
    ? `the list has a different order each time, and ${amountOf(passes, 'pass', 'passes')} did not find as many different keys as it has rows`
    : `${amountOf(passes, 'pass', 'passes')} over the list kept finding rows that were missed`;
  return [{ code: 'E_GATE_CONSISTENCY', message: `${at}: ${why}${because(drift)}` }];
}

/** Returns the warning that rows of an unrepaired read may be missing; also for an unchecked read in which drift was evident. */
export function driftOf(at: string, { outcome, drift }: Consistency): readonly Warning[] {
  if (outcome !== 'drifted' && (outcome !== 'off' || drift.length === 0)) return [];
  return [{ code: 'W_SOURCE_DRIFT', message: `${at}: the list changed while it was read, so rows may be missing${because(drift)}` }];
}

function because([first, ...others]: readonly string[]): string {
  if (first === undefined) return '';
  return ` (${first}${others.length > 0 ? `, and ${others.length} more` : ''})`;
}
