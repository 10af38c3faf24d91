import type { Observable } from 'rxjs';
import { defined, StepError, type Row } from '../core/index.js';
import { failureAt } from './row-failure.js';

/** What a step did to the rows that passed it, in rows. */
export interface Tally {
  /** Rows that a condition removed. */
  filtered: number;
  /** Rows whose key had been seen. */
  duplicates: number;
  /** Rows that arrived at a limit after those that it lets pass. */
  beyondLimit: number;
  /** Rows of an inner join without a match. */
  unmatched: number;
  /** Rows that a one-to-many join added, or the elements of lists. */
  expanded: number;
  /** Rows that went into groups. */
  grouped: number;
  /** Rows that came out of them: one per group. */
  groups: number;
  /** Rows sent to the rejects. */
  rejected: number;
  /** Rows with a match on the other side of a join. */
  matched: number;
  /** Rows without a match, whether they stay (left) or go (inner). */
  missed: number;
  /** Values that became `null` under `on_error: null`. */
  nulled: number;
}

/** What becomes of a row whose value does not cast or whose expression fails. */
export type OnError = 'reject' | 'null' | 'fail';

/** A value that could not be used. `reason` never contains the value. */
export interface Fault {
  readonly field: string;
  readonly reason: string;
  /** The page, from 1; absent where nobody said. */
  readonly page?: number | undefined;
  /** The place of the row among those that the step has of the page, from 0; absent where nobody said. */
  readonly index?: number | undefined;
}

/** What a step gets besides its arguments. */
export interface StepContext {
  /** Name of the step in messages, for example `steps[1] derive`. */
  readonly at: string;
  readonly tally: Tally;
  /** Takes a row out of the stream and into the rejects. The step counts it in `tally.rejected`. */
  reject(row: Row, fault: Fault): void;
  /** Called when a blocking step begins and ends work during which it keeps pages that it got. */
  working?(is: boolean): void;
  /**
   * Called by a step that needs no more rows: the source ends, and the pages that have left it still come. Default: such a step ends the
   * stream itself.
   */
  stop?(): void;
  /**
   * Emits as soon as nobody needs what the step gives, at once where that is so already. A step whose work asks for something may then leave
   * the rows out, and counts them in `tally.beyondLimit`. Default: never.
   */
  readonly stopped$?: Observable<unknown>;
}

/** A tally of nothing. Its order is that in which people read it. */
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

/** What adds to a whole what a part counted since the last call. */
export function addingTo(whole: Tally, part: Readonly<Tally>): () => void {
  let added = emptyTally();
  return () => {
    for (const name of Object.keys(added) as (keyof Tally)[]) whole[name] += part[name] - added[name];
    added = { ...part };
  };
}

/**
 * The context of a step that is used on its own, in code. There is nowhere to put a rejected row, so one fails the
 * stream instead of vanishing; pass a context with `reject` to collect them.
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
          `${at}: field ${field} ${reason}${place}; such a row ends the stream without onError: 'null' or a context that takes rejects`,
        );
      if (page === undefined || index === undefined) throw told('');
      throw failureAt({ at, page, index, row }, (place) => told(` in ${place}`));
    },
    ...defined(overrides),
  };
}
