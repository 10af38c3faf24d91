export const consistencyModes = ['off', 'check', 'repair', 'prove'] as const;
/** How a read is checked: not at all, by reading pages again, also by passes if these changed, or always by passes. */
export type ConsistencyMode = (typeof consistencyModes)[number];

/** What the check found. `proven`: two passes missed nothing, with other page borders or the expected count; `unstable`: all found rows. */
export type ConsistencyOutcome = 'off' | 'stable' | 'drifted' | 'repaired' | 'proven' | 'unstable';

export const duplicateKeyModes = ['keep_first', 'keep_all'] as const;
/** Which of several different rows with one key are kept: the first one read, or all, distinguished by their whole content. */
export type OnDuplicateKey = (typeof duplicateKeyModes)[number];

/** The results of the check. They change while the stream runs. */
export interface Consistency {
  mode: ConsistencyMode;
  /** Default: such rows fail the read. */
  readonly onDuplicateKey: OnDuplicateKey | undefined;
  outcome: ConsistencyOutcome;
  probes: number;
  passes: number;
  repaired: number;
  /** Rows that appeared more than once, by key. The first one read is kept. */
  duplicates: number;
  changed: number;
  /** Rows that are known to share their key with a different row; there may be more. */
  conflicts: number;
  conflict?: string;
  /** How the end was confirmed; `none`: only by a second look; `undefined` before the end. */
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

/** Where rows came from. `repaired`: added by passes; `expanded`: by one-to-many joins and lists; `groups`: one row per group. */
export const origins = ['read', 'repaired', 'expanded', 'groups'] as const;

/**
 * What became of rows. `beyondLimit`: read, then cut off by a limit; `unmatched`: without a match in an inner join; `unchanged`: left out
 * since the output has their key already (append), or all of their content (merge); `grouped`: counted into groups.
 */
export const outcomes = ['written', 'filtered', 'duplicates', 'beyondLimit', 'unmatched', 'rejected', 'unchanged', 'grouped'] as const;

/** The row counts of one sink. Origins and outcomes must have the same sum before anything is published. */
export type RowCounts = { readonly [K in (typeof origins)[number] | (typeof outcomes)[number]]: number };

/** What a merge did to the rows of an output, which has `before + inserted - deleted + closed` rows then. */
export interface MergeCounts {
  /** Rows of the output before. */
  readonly before: number;
  /** Rows with new keys. */
  readonly inserted: number;
  /** Rows that took the place of others with their key. */
  readonly changed: number;
  /** Rows that stayed as they were. */
  readonly unchanged: number;
  readonly deleted: number;
  /** Rows that were marked as deleted, and stay. */
  readonly marked?: number;
  /** With history, versions of changed and deleted rows that ended, and stay. */
  readonly closed?: number;
}

/** The counts of a merge that are about rows of the run, or of the output. */
export const mergeWords = ['inserted', 'changed', 'unchanged', 'deleted', 'marked', 'closed'] as const;

export function wordOf(count: string): string {
  return count === 'beyondLimit' ? 'beyond the limit' : count;
}

/** Returns the non-zero counts, all or some, with their names for people. */
export function counted(counts: object, some?: readonly string[]): readonly (readonly [word: string, rows: number])[] {
  return Object.entries<number>({ ...counts }).flatMap(([name, rows]) =>
    rows > 0 && (some?.includes(name) ?? true) ? [[wordOf(name), rows] as const] : [],
  );
}
