/** The row counts of one sink. Both sides of the sum must agree before anything is published. */
export interface RowCounts {
  readonly read: number;
  /** Rows added by further passes over the list. */
  readonly repaired: number;
  /** Extra rows from one-to-many joins and lists. */
  readonly expanded: number;
  /** Rows that steps created from groups, one each. */
  readonly groups: number;
  readonly written: number;
  readonly filtered: number;
  readonly duplicates: number;
  /** Rows cut off by a limit; rows that were never read are not counted. */
  readonly beyondLimit: number;
  /** Rows without a match in inner joins. */
  readonly unmatched: number;
  readonly rejected: number;
  /** Rows that an append left out because the output already has their key. */
  readonly unchanged: number;
  /** Rows that went into groups. */
  readonly grouped: number;
}

/** Where rows came from. */
export const origins = ['read', 'repaired', 'expanded', 'groups'] as const satisfies readonly (keyof RowCounts)[];

/** The outcomes of rows. */
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

/** Returns the name of a count for people. */
export function wordOf(count: string): string {
  return count === 'beyondLimit' ? 'beyond the limit' : count;
}

/** Returns the counts that are not zero, with their names for people: all, or some. */
export function counted(counts: object, some?: readonly string[]): readonly (readonly [word: string, rows: number])[] {
  return Object.entries<number>({ ...counts }).flatMap(([name, rows]) =>
    rows > 0 && (some?.includes(name) ?? true) ? [[wordOf(name), rows] as const] : [],
  );
}
