import type { Observable } from 'rxjs';
import { defined, StepError, type Row } from '../core/index.js';
import { failureAt } from './row-failure.js';

/** What happens to a row whose value does not cast or whose expression fails. */
export type OnError = 'reject' | 'null' | 'fail';

/** A value that could not be used. `reason` never contains the value. */
export interface Fault {
  readonly field: string;
  readonly reason: string;
  /** The page, from 1, and the index of the row within the step's rows of the page, from 0; `undefined` if unknown. */
  readonly page?: number | undefined;
  readonly index?: number | undefined;
}

/** What a step receives besides its arguments. */
export interface StepContext {
  /** Name in messages, for example `steps[1] derive`. */
  readonly at: string;
  readonly tally: Tally;
  /** Moves a row from the stream to the rejects. The step counts it in `tally.rejected`. */
  reject(row: Row, fault: Fault): void;
  /** Resolves when the rejects so far are stored. Steps that take all rows wait for it by page, so that rejects do not pile up. */
  readonly rejectsStored?: () => Promise<void>;
  /** Called by a step that needs no more rows: the source ends; pages that have left it still arrive. Default: the step ends the stream. */
  stop?(): void;
  /** Emits when the step's output is no longer needed: a step that makes requests then skips rows, as `beyondLimit`. Default: never. */
  readonly stopped$?: Observable<unknown>;
}

/** What a step did to the rows that passed through it, in rows. */
export type Tally = ReturnType<typeof emptyTally>;

/** Creates an empty tally, with the counts in display order. */
export function emptyTally() {
  return {
    /** Rows that a condition dropped. */
    filtered: 0,
    duplicates: 0,
    /** Rows that arrived at a limit after it was reached. */
    beyondLimit: 0,
    /** Rows with a match on the other side of a join. */
    matched: 0,
    /** Rows without a match, whether they are kept (left) or dropped (inner). */
    missed: 0,
    /** Rows of an inner join without a match. */
    unmatched: 0,
    /** Rows that one-to-many joins or the elements of lists added. */
    expanded: 0,
    rejected: 0,
    nulled: 0,
    /** Rows that went into groups. */
    grouped: 0,
    groups: 0,
  };
}

/**
 * Creates the context of a step that a program uses alone. A rejected row fails the stream unless `reject` is overridden.
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
      const failure = (place: string) =>
        new StepError(
          'E_STEP_VALUE',
          `${at}: field ${field} ${reason}${place}; such a row ends the stream unless onError is 'null' or the context takes rejects`,
        );
      if (page === undefined || index === undefined) throw failure('');
      throw failureAt({ at, page, index, row }, (place) => failure(` in ${place}`));
    },
    ...defined(overrides),
  };
}
