/** The books of one sink, in rows. Both sides of the sum must agree before anything is published. */
export interface RowCounts {
  readonly read: number;
  /** Rows that further passes over the list added. */
  readonly repaired: number;
  /** Extra rows of one-to-many joins and of lists. */
  readonly expanded: number;
  /** Rows that steps made of groups, one each. */
  readonly groups: number;
  readonly written: number;
  readonly filtered: number;
  readonly duplicates: number;
  /** Rows that a limit cut off; those that were never read are not counted. */
  readonly beyondLimit: number;
  /** Rows without a match in inner joins. */
  readonly unmatched: number;
  readonly rejected: number;
  /** Rows that an append left out because the output has their key already. */
  readonly unchanged: number;
  /** Rows that went into groups. */
  readonly grouped: number;
}

/** Where rows came from. */
export const origins = ['read', 'repaired', 'expanded', 'groups'] as const satisfies readonly (keyof RowCounts)[];

/** What became of the rows. */
export const outcomes = [
  'written',
  'filtered',
  'duplicates',
  'beyondLimit',
  'unmatched',
  'rejected',
  'unchanged',
  'grouped',
] as const satisfies readonly (keyof RowCounts)[];

/** A count as people read it. */
export function wordOf(count: string): string {
  return count === 'beyondLimit' ? 'beyond the limit' : count;
}

/** Counts that are not zero, under the words of people: all of them, or some. */
export function counted(counts: object, some?: readonly string[]): readonly (readonly [word: string, rows: number])[] {
  return Object.entries<number>({ ...counts }).flatMap(([name, rows]) =>
    rows > 0 && (some?.includes(name) ?? true) ? [[wordOf(name), rows] as const] : [],
  );
}
