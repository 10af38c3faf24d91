/**
 * How a read is checked for rows that moved between pages while it ran: not at all, by reading some pages again (`check`), by further
 * passes if those pages changed (`repair`), or always by further passes (`prove`).
 */
export type ConsistencyMode = 'off' | 'check' | 'repair' | 'prove';

/**
 * What the check found: the list did not change (`stable`) or did (`drifted`); missed rows were added (`repaired`); two passes in a row
 * missed nothing (`proven`); or passes kept finding rows up to `maxPasses` (`unstable`).
 */
export type ConsistencyOutcome = 'off' | 'stable' | 'drifted' | 'repaired' | 'proven' | 'unstable';

/** The results of the check, filled in while the stream runs. */
export interface Consistency {
  readonly mode: ConsistencyMode;
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
  /** How the end was confirmed: row by row, by the list's own page numbers, or only by looking twice; `undefined` before the end. */
  counted: 'rows' | 'pages' | 'none' | undefined;
  /** Milliseconds spent waiting at the end of the list before re-checking it. */
  waitedMs: number;
  /** Whether rows kept arriving while the end was being confirmed, so that the read ended at the last confirmed end. */
  growing: boolean;
  /** Whether the list has another order each time. */
  unordered: boolean;
  /** The first pieces of evidence that the list changed, as messages. */
  readonly drift: string[];
  /** What could not be checked, as messages; only for lists without page numbers. */
  unchecked?: readonly string[];
}

/** Creates the state of a read that has not begun. */
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
