/**
 * How a read is checked for rows that moved from page to page while it went on: not at all, by reading some pages again
 * (`check`), by further passes when these have changed (`repair`), or by further passes always (`prove`).
 */
export type ConsistencyMode = 'off' | 'check' | 'repair' | 'prove';

/**
 * What the check found: the list did not change (`stable`) or did (`drifted`); what was missed was added (`repaired`), or two
 * passes in a row missed nothing (`proven`); or passes went on finding rows until there were `maxPasses` (`unstable`).
 */
export type ConsistencyOutcome = 'off' | 'stable' | 'drifted' | 'repaired' | 'proven' | 'unstable';

/** What the check did, filled in while the stream runs. */
export interface Consistency {
  readonly mode: ConsistencyMode;
  outcome: ConsistencyOutcome;
  /** Pages and rows that were read again. */
  probes: number;
  passes: number;
  /** Rows that passes added. */
  repaired: number;
  /** Rows of the list that had come before, by key; the first read stays. */
  duplicates: number;
  /** Rows that came again with other batch. */
  changed: number;
  /** How the end was made sure of: row by row, by the list's own pages, or by looking twice alone; `undefined` before the end. */
  counted: 'rows' | 'pages' | 'none' | undefined;
  /** Milliseconds for which the end of the list was left to rest before it was looked at again. */
  waitedMs: number;
  /** Whether rows went on coming while the end was looked for, so that the read ended where its end was last confirmed. */
  growing: boolean;
  /** Whether the list comes in another order each time. */
  unordered: boolean;
  /** What speaks against a list that stood still, in words; the first of them. */
  readonly drift: string[];
  /** What of the list could not be checked, in words; only of lists without page numbers. */
  unchecked?: readonly string[];
}

/** What is known of a read before it began. */
export function newConsistency(mode: ConsistencyMode = 'off'): Consistency {
  return {
    mode,
    outcome: 'off',
    probes: 0,
    passes: 0,
    repaired: 0,
    duplicates: 0,
    changed: 0,
    counted: undefined,
    waitedMs: 0,
    growing: false,
    unordered: false,
    drift: [],
  };
}
