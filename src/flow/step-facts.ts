import type { Observable } from 'rxjs';
import type { Column, Warning } from '../core/index.js';
import type { StepContext } from './context.js';
import type { Page, Step } from './page.js';
import type { ReadFor } from './row-source.js';

/** Where a problem lies in what a step was given: keys and indexes from its own value downwards. */
export type ConfigPath = readonly (string | number)[];

/** What is known where columns are followed through steps, before anything is read. */
export interface ColumnsContext {
  /** The step that did not pass a column on, by the column. Default: not known. */
  readonly gone?: ReadonlyMap<string, string>;
  /** Columns of the collection that are secret and not revealed. */
  readonly withheld: readonly string[];
  /**
   * Reports a problem; following goes on if this returns, so that all are found at once.
   *
   * @param onKey Whether it is about the key, and not about its value.
   * @param at Of a text, the character meant, from 0.
   */
  problem(path: ConfigPath, message: string, onKey?: boolean, at?: number): void;
}

/** One read of a stream, as its steps see it. */
export interface Reading extends ReadFor {
  /** The context of a step whose rows are counted for this read. */
  counted(at: string): StepContext;
  /** Says that something was recognised that is no failure. */
  warn(warning: Warning): void;
  /**
   * Judges what only shows when all rows have come: at the end of the read, also of one that a later step ended before the rows of this one
   * had.
   *
   * @param judge What it throws ends the stream.
   */
  atEnd(judge: () => void): void;
}

/** What is known of a step besides what it does to pages. */
export interface StepFacts {
  /** Name in messages, for example `select`. */
  readonly at: string;
  /** The columns that leave it; `undefined` where that cannot be told. */
  columns(input: readonly Column[], context: ColumnsContext): readonly Column[] | undefined;
  /** The columns that leave it where nobody knows those that arrive. Default: nobody knows these either. */
  readonly made?: readonly Column[] | undefined;
  /** Whether it takes all rows before it gives the first. Default false. */
  readonly blocking?: boolean | undefined;
  /** The same step for one read. Default: the step itself. */
  readonly opened?: ((reading: Reading) => unknown) | undefined;
}

const factsBy = new WeakMap<object, StepFacts>();

/** The read whose operators are being put together. */
let applying: Reading | undefined;

/** What an operator makes of pages in a read. When it is made of several, by `pipe` of RxJS, the steps among them belong to the read as well. */
export function appliedIn<In, Out>(reading: Reading, step: Step<In, Out>, pages$: Observable<Page<In>>): Observable<Page<Out>> {
  const before = applying;
  applying = reading;
  try {
    return pages$.pipe(step);
  } finally {
    applying = before;
  }
}

/** The same step, of which these facts are known. An operator that is made of several has none. */
export function withFacts<In, Out>(step: Step<In, Out>, facts: StepFacts): Step<In, Out> {
  const { opened } = facts;
  const known: Step<In, Out> = (pages$) => (applying && opened ? (opened(applying) as Step<In, Out>)(pages$) : step(pages$));
  factsBy.set(known, facts);
  return known;
}

/** What is known of an operator; nothing of one that is not ours. */
export function factsOf(step: object): StepFacts | undefined {
  return factsBy.get(step);
}
