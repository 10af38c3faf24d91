import type { Observable } from 'rxjs';
import type { Column, Consistency, Warning } from '../core/index.js';
import type { Tally } from './context.js';
import type { Page } from './page.js';

/** The purpose of a read: what is written must be complete. */
export type Purpose = 'reading' | 'writing';

/** The purpose of a read, and the listener for its warnings. */
export interface ReadFor {
  readonly purpose: Purpose;
  /**
   * Receives warnings of the steps.
   *
   * @param isPublished Whether the channels of the process already have it.
   * @returns Whether there is a listener.
   */
  hear?(warning: Warning, isPublished: boolean): boolean;
}

/** The source of a stream's rows. */
export interface RowSource {
  /** The declared columns of the rows; `undefined` if unknown. */
  readonly columns: readonly Column[] | undefined;
  /** Columns that are secret and not revealed, for messages. */
  readonly withheld: readonly string[];
  /** Columns that identify a row; empty if unknown. */
  readonly key: readonly string[];
  /** Starts a read; nothing is requested before its pages are subscribed. */
  open(purpose: Purpose): OpenedSource;
  /** Publishes a warning, to the channels too. @returns Whether there is a listener. */
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
  /** The undeclared columns of the rows so far. */
  undeclared(): readonly Column[];
  /** What was found out about the list; complete when the pages have ended. `undefined` if nothing is checked. */
  readonly consistency: Consistency | undefined;
  /** Whether its rows are known to be only part of a list. Default: they are complete. */
  readonly partial?: boolean;
}

/** One read of a stream. */
export interface OpenedStream<T> {
  readonly pages$: Observable<Page<T>>;
  /** Columns of the source that identify a row; empty if unknown. */
  readonly key: readonly string[];
  /** The columns of the rows, including undeclared ones so far; `undefined` if unknown. */
  columns(): readonly Column[] | undefined;
  readonly consistency: Consistency | undefined;
  /** What its steps did so far, except those that were given a context, and operators that are not leadstream's. */
  readonly steps: readonly CountedStep[];
  /** Whether a step, such as `limit`, ended before its input did, unless a step that takes all rows first comes before it. */
  readonly partial: boolean;
}
