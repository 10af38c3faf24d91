import { GateError } from '../errors.js';
import { emptyTally, type Tally } from '../flow/index.js';

/** The books of one sink, in rows. Both sides of the sum must agree before anything is published. */
export interface Books {
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
}

/** Adds up what all steps did. */
export function sumTallies(tallies: readonly Tally[]): Tally {
  const sum = emptyTally();
  for (const tally of tallies) {
    for (const key of tallyKeys) sum[key] += tally[key];
  }
  return sum;
}

const tallyKeys = [
  'filtered',
  'duplicates',
  'unmatched',
  'expanded',
  'rejected',
  'matched',
  'missed',
  'nulled',
] as const satisfies readonly (keyof Tally)[];

/** Closes the books of a sink. */
export function booksOf(
  source: Pick<Books, 'read' | 'repaired' | 'duplicates'>,
  steps: Tally,
  sink: { readonly written: number; readonly rejected: number },
): Books {
  return {
    read: source.read,
    repaired: source.repaired,
    expanded: steps.expanded,
    written: sink.written,
    filtered: steps.filtered,
    duplicates: source.duplicates + steps.duplicates,
    unmatched: steps.unmatched,
    rejected: steps.rejected + sink.rejected,
  };
}

/** @throws {GateError} `E_GATE_BOOKS` with both sides of the sum. */
export function checkBooks(at: string, books: Books): void {
  const came = books.read + books.repaired + books.expanded;
  const went = books.written + books.filtered + books.duplicates + books.unmatched + books.rejected;
  if (came === went) return;
  throw new GateError(
    'E_GATE_BOOKS',
    `${at}: read ${books.read} + repaired ${books.repaired} + expanded ${books.expanded} = ${came}, but written ${books.written} + filtered ${books.filtered} + ` +
      `duplicates ${books.duplicates} + unmatched ${books.unmatched} + rejected ${books.rejected} = ${went}`,
  );
}
