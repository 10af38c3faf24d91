export const consistencyModes = ['off', 'check', 'repair', 'prove'] as const;
/** How a read is checked: not at all, by reading pages again, by passes if these changed, or always by passes. */
export type ConsistencyMode = (typeof consistencyModes)[number];

/** What the check found. `proven`: two passes in a row missed nothing, and saw other borders or the number of rows; `unstable`: passes kept finding rows, up to `maxPasses`. */
export type ConsistencyOutcome = 'off' | 'stable' | 'drifted' | 'repaired' | 'proven' | 'unstable';

export const duplicateKeyModes = ['keep_first', 'keep_all'] as const;
/** What is kept of different rows with one key: the first row read, or all of them, which are then told apart by their whole content. */
export type OnDuplicateKey = (typeof duplicateKeyModes)[number];

/** The results of the check, filled in while the stream runs. */
export interface Consistency {
  readonly mode: ConsistencyMode;
  /** Default: such rows refuse the read. */
  readonly onDuplicateKey: OnDuplicateKey | undefined;
  outcome: ConsistencyOutcome;
  /** Pages and rows that were read again. */
  probes: number;
  passes: number;
  /** Rows added by passes. */
  repaired: number;
  /** Rows that appeared more than once, by key; the first one read is kept. */
  duplicates: number;
  /** Rows that appeared again with other values. */
  changed: number;
  /** Rows that certainly have the key of a different row: at least so many. */
  conflicts: number;
  /** One of them, as a message. */
  conflict?: string;
  /** How the end was confirmed; `none` is only by looking twice, `undefined` before the end. */
  counted: 'rows' | 'pages' | 'none' | undefined;
  /** Milliseconds spent waiting at the end of the list. */
  waitedMs: number;
  /** Whether rows kept arriving while the end was confirmed. */
  growing: boolean;
  /** Whether the list has another order each time. */
  unordered: boolean;
  /** The first pieces of evidence that the list changed, as messages. */
  readonly drift: string[];
  /** What could not be checked, as messages; only for lists without page numbers. */
  unchecked?: readonly string[];
}

export function newConsistency(mode: ConsistencyMode = 'off', onDuplicateKey?: OnDuplicateKey): Consistency {
  const counts = { probes: 0, passes: 0, repaired: 0, duplicates: 0, changed: 0, conflicts: 0, waitedMs: 0 };
  return { mode, onDuplicateKey, outcome: 'off', ...counts, counted: undefined, growing: false, unordered: false, drift: [] };
}

/** Where rows came from. `repaired`: further passes over the list; `expanded`: one-to-many joins and lists; `groups`: one for each. */
export const origins = ['read', 'repaired', 'expanded', 'groups'] as const;

/**
 * The outcomes of rows. `beyondLimit`: cut off by a limit, unlike rows that were never read; `unmatched`: without a match in inner joins;
 * `unchanged`: left out by an append because the output already has their key; `grouped`: went into groups.
 */
export const outcomes = ['written', 'filtered', 'duplicates', 'beyondLimit', 'unmatched', 'rejected', 'unchanged', 'grouped'] as const;

/** The row counts of one sink. Both sides of the sum must agree before anything is published. */
export type RowCounts = { readonly [K in (typeof origins)[number] | (typeof outcomes)[number]]: number };

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
