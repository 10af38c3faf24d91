import { origins, outcomes, type RowCounts, type Violation, wordOf } from '../core/index.js';
import { emptyTally, type Tally } from '../flow/index.js';

/** Adds up the tallies of all steps. */
export function sumTallies(tallies: readonly Tally[]): Tally {
  const sum = emptyTally();
  for (const tally of tallies) {
    for (const key of tallyKeys) sum[key] += tally[key];
  }
  return sum;
}

/** All of them, so that nothing counted by a step is missing from the books. */
const tallyKeys = Object.keys(emptyTally()) as (keyof Tally)[];

/** Returns the books of a sink. */
export function rowCountsOf(
  source: Pick<RowCounts, 'read' | 'repaired' | 'duplicates'>,
  steps: Tally,
  sink: Pick<RowCounts, 'written' | 'rejected' | 'unchanged'>,
): RowCounts {
  return {
    read: source.read,
    repaired: source.repaired,
    expanded: steps.expanded,
    groups: steps.groups,
    written: sink.written,
    filtered: steps.filtered,
    duplicates: source.duplicates + steps.duplicates,
    beyondLimit: steps.beyondLimit,
    unmatched: steps.unmatched,
    rejected: steps.rejected + sink.rejected,
    unchanged: sink.unchanged,
    grouped: steps.grouped,
  };
}

/** Returns a violation with both sides of the sum, if they differ. */
export function refuseCounts(at: string, books: RowCounts): readonly Violation[] {
  const came = origins.reduce((sum, origin) => sum + books[origin], 0);
  const went = outcomes.reduce((sum, outcome) => sum + books[outcome], 0);
  if (came === went) return [];
  const sumOf = (names: readonly (keyof RowCounts)[]) => names.map((name) => `${wordOf(name)} ${books[name]}`).join(' + ');
  const message = `${at}: ${sumOf(origins)} = ${came}, but ${sumOf(outcomes)} = ${went}`;
  return [{ code: 'E_GATE_BOOKS', message }];
}
