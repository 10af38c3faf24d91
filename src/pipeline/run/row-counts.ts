import type { Violation } from '../../core/index.js';
import { emptyTally, type Tally } from '../../flow/index.js';

/** The books of one sink, in rows. Both sides of the sum must agree before anything is published. */
export interface RowCounts {
  readonly read: number;
  /** Rows that further passes over the list added. */
  readonly repaired: number;
  /** Extra rows of one-to-many joins. */
  readonly expanded: number;
  readonly written: number;
  readonly filtered: number;
  readonly duplicates: number;
  /** Rows without a match in inner joins. */
  readonly unmatched: number;
  readonly rejected: number;
  /** Rows that an append left out because the output has their key already. */
  readonly unchanged: number;
}

/** Adds up what all steps did. */
export function sumTallies(tallies: readonly Tally[]): Tally {
  const sum = emptyTally();
  for (const tally of tallies) {
    for (const key of tallyKeys) sum[key] += tally[key];
  }
  return sum;
}

/** All of them, so that no step counts what no book has. */
const tallyKeys = Object.keys(emptyTally()) as (keyof Tally)[];

/** Closes the books of a sink. */
export function rowCountsOf(
  source: Pick<RowCounts, 'read' | 'repaired' | 'duplicates'>,
  steps: Tally,
  sink: Pick<RowCounts, 'written' | 'rejected' | 'unchanged'>,
): RowCounts {
  return {
    read: source.read,
    repaired: source.repaired,
    expanded: steps.expanded,
    written: sink.written,
    filtered: steps.filtered,
    duplicates: source.duplicates + steps.duplicates,
    unmatched: steps.unmatched,
    rejected: steps.rejected + sink.rejected,
    unchanged: sink.unchanged,
  };
}

/** Both sides of the sum, when they differ. */
export function refuseCounts(at: string, books: RowCounts): readonly Violation[] {
  const came = books.read + books.repaired + books.expanded;
  const went = outcomes.reduce((sum, outcome) => sum + books[outcome], 0);
  if (came === went) return [];
  const parts = outcomes.map((outcome) => `${outcome} ${books[outcome]}`).join(' + ');
  const message = `${at}: read ${books.read} + repaired ${books.repaired} + expanded ${books.expanded} = ${came}, but ${parts} = ${went}`;
  return [{ code: 'E_GATE_BOOKS', message }];
}

/** What became of the rows. */
const outcomes = [
  'written',
  'filtered',
  'duplicates',
  'unmatched',
  'rejected',
  'unchanged',
] as const satisfies readonly (keyof RowCounts)[];
