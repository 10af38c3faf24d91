import type { Observable } from 'rxjs';
import type { Column, Warning } from '../core/index.js';
import type { StepContext } from './context.js';
import type { Page, Step } from './page.js';
import type { ReadFor } from './row-source.js';

/** The location of a problem in a step's configuration: keys and indexes from its value downwards. */
export type ConfigPath = readonly (string | number)[];

/** What is known when columns are followed through steps, before anything is read. */
export interface ColumnsContext {
  /** The step that dropped a column, by column name. Default: unknown. */
  readonly gone?: ReadonlyMap<string, string>;
  /** Columns of the collection that are secret and not revealed. */
  readonly withheld: readonly string[];
  /**
   * Reports a problem; checking continues if this returns, so that all are found together.
   *
   * @param onKey Whether the problem is the key, not its value.
   * @param at Index of the character in a text, from 0.
   */
  problem(path: ConfigPath, message: string, onKey?: boolean, at?: number): void;
}

/** One read of a stream, as its steps see it. */
export interface Reading extends ReadFor {
  /** Returns the context of a step whose rows are counted for this read. */
  counted(at: string): StepContext;
  /** Reports a warning. */
  warn(warning: Warning): void;
  /**
   * Registers a check that needs all rows. It runs at the end of the read, even if a later step ended the read before the rows of this one did.
   *
   * @param judge An error that it throws ends the stream.
   */
  atEnd(judge: () => void): void;
}

/** What is known about a step in addition to its effect on pages. */
export interface StepFacts {
  /** Name in messages, for example `select`. */
  readonly at: string;
  /** Returns the output columns; `undefined` if unknown. */
  columns(input: readonly Column[], context: ColumnsContext): readonly Column[] | undefined;
  /** The output columns if the input columns are unknown. Default: unknown too. */
  readonly made?: readonly Column[] | undefined;
  /** Whether it takes all rows before it emits the first. Default false. */
  readonly blocking?: boolean | undefined;
  /** Creates the step for one read. Default: the step itself. */
  readonly opened?: ((reading: Reading) => unknown) | undefined;
}

const factsBy = new WeakMap<object, StepFacts>();

/** The read whose operators are being assembled. */
let applying: Reading | undefined;

/**
 * Applies an operator to the pages of a read. If it is composed of several, by `pipe` of RxJS, the steps among them belong to the read as well.
 */
export function appliedIn<In, Out>(reading: Reading, step: Step<In, Out>, pages$: Observable<Page<In>>): Observable<Page<Out>> {
  const before = applying;
  applying = reading;
  try {
    return pages$.pipe(step);
  } finally {
    applying = before;
  }
}

/** Attaches facts to a step. An operator composed of several steps has none. */
export function withFacts<In, Out>(step: Step<In, Out>, facts: StepFacts): Step<In, Out> {
  const { opened } = facts;
  const known: Step<In, Out> = (pages$) => (applying && opened ? (opened(applying) as Step<In, Out>)(pages$) : step(pages$));
  factsBy.set(known, facts);
  return known;
}

/** Returns the facts of an operator; `undefined` for one that is not leadstream's. */
export function factsOf(step: object): StepFacts | undefined {
  return factsBy.get(step);
}
