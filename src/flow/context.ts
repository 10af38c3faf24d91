import type { Observable } from 'rxjs';
import { defined, StepError, type Row } from '../core/index.js';
import { failureAt } from './row-failure.js';

/** What a step did to the rows that passed through it, in rows. */
export interface Tally {
  /** Rows that a condition removed. */
  filtered: number;
  /** Rows whose key had occurred before. */
  duplicates: number;
  /** Rows that arrived at a limit after it was reached. */
  beyondLimit: number;
  /** Rows of an inner join without a match. */
  unmatched: number;
  /** Rows that one-to-many joins or the elements of lists added. */
  expanded: number;
  /** Rows that went into groups. */
  grouped: number;
  /** Rows emitted for groups: one per group. */
  groups: number;
  /** Rows sent to the rejects. */
  rejected: number;
  /** Rows with a match on the other side of a join. */
  matched: number;
  /** Rows without a match, whether they are kept (left) or dropped (inner). */
  missed: number;
  /** Values that became `null` under `on_error: null`. */
  nulled: number;
}

/** What happens to a row whose value does not cast or whose expression fails. */
export type OnError = 'reject' | 'null' | 'fail';

/** A value that could not be used. `reason` never contains the value. */
export interface Fault {
  readonly field: string;
  readonly reason: string;
  /** The page, from 1; `undefined` if unknown. */
  readonly page?: number | undefined;
  /** Index of the row within the step's rows of the page, from 0; `undefined` if unknown. */
  readonly index?: number | undefined;
}

/** What a step receives in addition to its arguments. */
export interface StepContext {
  /** Name of the step in messages, for example `steps[1] derive`. */
  readonly at: string;
  readonly tally: Tally;
  /** Moves a row from the stream to the rejects. The step counts it in `tally.rejected`. */
  reject(row: Row, fault: Fault): void;
  /**
   * Called by a step that needs no more rows: the source ends, and pages that have already left it still arrive. Default: the step ends the stream itself.
   */
  stop?(): void;
  /**
   * Emits once the output of the step is no longer needed, immediately if that is already so. A step that makes requests may then skip
   * rows, and counts them in `tally.beyondLimit`. Default: never.
   */
  readonly stopped$?: Observable<unknown>;
}

/** Creates an empty tally, with the counts in display order. */
export function emptyTally(): Tally {
  return {
    filtered: 0,
    duplicates: 0,
    beyondLimit: 0,
    matched: 0,
    missed: 0,
    unmatched: 0,
    expanded: 0,
    rejected: 0,
    nulled: 0,
    grouped: 0,
    groups: 0,
  };
}

/**
 * Creates the context of a step used on its own, in code. There is nowhere to put a rejected row, so it fails the stream instead of being
 * lost; pass a context with `reject` to collect such rows.
 *
 * @example
 * const context = standalone('cast', { reject: (_row, fault) => void rejects.push(fault) });
 * service.leads.pipe(cast({ age: 'integer' }, {}, context)); // a row whose age is no number is in rejects
 */
export function standalone(at: string, overrides: Partial<StepContext> = {}): StepContext {
  return {
    at,
    tally: emptyTally(),
    reject: (row, { field, reason, page, index }) => {
      const told = (place: string) =>
        new StepError(
          'E_STEP_VALUE',
          `${at}: field ${field} ${reason}${place}; such a row ends the stream unless onError is 'null' or the context takes rejects`,
        );
      if (page === undefined || index === undefined) throw told('');
      throw failureAt({ at, page, index, row }, (place) => told(` in ${place}`));
    },
    ...defined(overrides),
  };
}
