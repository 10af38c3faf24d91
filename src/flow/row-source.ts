import type { Observable } from 'rxjs';
import type { Column, Consistency, Warning } from '../core/index.js';
import type { Tally } from './context.js';
import type { Page } from './page.js';

/** What rows are read for: what is written has to be complete. */
export type Purpose = 'reading' | 'writing';

/** What a read is for, and who wants to hear of it. */
export interface ReadFor {
  readonly purpose: Purpose;
  /**
   * Takes what the steps recognised that is no failure.
   *
   * @param isPublished Whether the channels of the process have it already.
   * @returns Whether somebody heard it.
   */
  hear?(warning: Warning, isPublished: boolean): boolean;
}

/** Where the rows of a stream come from. */
export interface RowSource {
  /** The columns that the rows are declared to have; `undefined` when nobody knows. */
  readonly columns: readonly Column[] | undefined;
  /** Columns that are secret and not revealed, for messages. */
  readonly withheld: readonly string[];
  /** Columns that identify a row; none when nobody knows. */
  readonly key: readonly string[];
  /** Begins a read; nothing is asked for before its pages are subscribed. */
  open(purpose: Purpose): OpenedSource;
  /** Says, on the channels too, that something was recognised that is no failure. @returns Whether somebody heard it. */
  warn?(warning: Warning): boolean;
}

/** What a step did with the rows of a read. */
export interface CountedStep {
  /** Name of the step, for example `join`. */
  readonly at: string;
  readonly tally: Readonly<Tally>;
}

/** One read of a source. */
export interface OpenedSource {
  readonly pages$: Observable<Page>;
  /** The columns that rows had so far and nobody declared. */
  undeclared(): readonly Column[];
  /** What was found out of the list; complete when the pages have ended. `undefined` where nothing is checked. */
  readonly consistency: Consistency | undefined;
  /** Whether its rows are known to be a part of a list. Default: they are all that there is. */
  readonly partial?: boolean;
}

/** One read of a stream. */
export interface OpenedStream<T> {
  readonly pages$: Observable<Page<T>>;
  /** Columns of the source that identify a row; none when nobody knows. */
  readonly key: readonly string[];
  /** The columns of the rows, with those that nobody declared and came so far; `undefined` when nobody knows. */
  columns(): readonly Column[] | undefined;
  readonly consistency: Consistency | undefined;
  /** What its steps did so far; not those that were given a context, and not operators of others. */
  readonly steps: readonly CountedStep[];
  /** Whether a step, like `limit`, ended before what came to it did, unless one that takes all rows first stands before it. */
  readonly partial: boolean;
}
