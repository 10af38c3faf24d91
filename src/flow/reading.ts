import { EMPTY, concat, defer, finalize, tap, type Observable } from 'rxjs';
import { warnProcess, type Warning } from '../core/index.js';
import { emptyTally, standalone, type StepContext } from './context.js';
import type { Step } from './page.js';
import type { CountedStep, ReadFor, RowSource } from './row-source.js';
import { refuseEndless } from './stalled.js';
import type { Reading } from './step-facts.js';

/** One read of a stream: the counts of its steps, how far each one read, their checks at the end, and the destination of their warnings. */
export class OpenReading implements Reading {
  readonly steps: CountedStep[] = [];
  readonly #passages: Passage[] = [];
  readonly #judgements: (() => void)[] = [];
  #watchedSteps = 0;

  constructor(
    private readonly wanted: ReadFor,
    private readonly source: Pick<RowSource, 'warn'>,
  ) {}

  get purpose() {
    return this.wanted.purpose;
  }

  counted(at: string): StepContext {
    const context = standalone(at);
    this.steps.push({ at, tally: context.tally });
    return context;
  }

  /** Passes a warning to the watchers of the connection and the listener of this read, or to the process if none of them listens. */
  warn(warning: Warning): void {
    const heard = this.source.warn?.(warning);
    const overheard = this.hear(warning, heard !== undefined);
    if (heard !== true && !overheard) warnProcess(warning);
  }

  hear(warning: Warning, isPublished: boolean): boolean {
    return this.wanted.hear?.(warning, isPublished) ?? false;
  }

  atEnd(judge: () => void): void {
    this.#judgements.push(judge);
  }

  /** Watches the output of a step or the source, in chain order. When it restarts, as after a `retry`, the step's counts are reset. */
  watched<T>(pages$: Observable<T>, from: string, isBlocking = false): Observable<T> {
    // The steps counted since the previous call, which produce these pages.
    const counted = this.steps.slice(this.#watchedSteps);
    this.#watchedSteps = this.steps.length;
    const passage = new Passage(from, isBlocking, () => counted.forEach(({ tally }) => Object.assign(tally, emptyTally())));
    this.#passages.push(passage);
    return passage.watch(pages$);
  }

  /** Wraps the output of the last step: it must end, and the checks of the steps at the end may refuse it. */
  concluded<T>(pages$: Observable<T>): Observable<T> {
    const judged$ = defer(() => {
      for (const judge of this.#judgements) judge();
      return EMPTY;
    });
    return concat(pages$, judged$).pipe(
      refuseEndless(() => `${this.#passages.find(({ isOpen }) => isOpen)?.from ?? 'the stream'} never ends`),
    );
  }

  /** Whether rows of the source were left unread. A step that takes all rows first has read everything, even if a later step stops early. */
  get isPartial(): boolean {
    const blocking = this.#passages.findIndex(({ isBlocking }) => isBlocking);
    const fromSource = blocking < 0 ? this.#passages : this.#passages.slice(0, blocking);
    return fromSource.some(({ isWhole }) => !isWhole);
  }
}

/**
 * Wraps a step used outside `RowStream.pipe`: each subscription is a separate read, and warnings go to the process.
 *
 * @param at Name of the step in messages.
 * @param opened Creates the step for a read.
 */
export function onItsOwn<In, Out>(at: string, opened: (reading: Reading) => Step<In, Out>): Step<In, Out> {
  return (pages$) =>
    defer(() => {
      const reading = new OpenReading({ purpose: 'reading' }, {});
      const source$ = reading.watched(pages$, 'the source of the rows');
      return reading.concluded(reading.watched(opened(reading)(source$), at));
    });
}

/** How one subscription of a stream went: `left` before its end, or failed. */
interface Taking {
  outcome: 'open' | 'whole' | 'left';
}

/** The pages that pass from one step to the next; tracks whether all were consumed. */
class Passage {
  #last: Taking | undefined;
  #open = 0;

  /**
   * @param from Name of the producer, for messages.
   * @param isBlocking Whether it is a step that takes all rows first.
   * @param again Called when the stream is restarted after an unfinished subscription.
   */
  constructor(
    readonly from: string,
    readonly isBlocking: boolean,
    private readonly again: () => void,
  ) {}

  watch<T>(pages$: Observable<T>): Observable<T> {
    return defer(() => {
      if (this.#last?.outcome === 'left') this.again();
      const taking: Taking = { outcome: 'open' };
      const left = () => void (taking.outcome = 'left');
      this.#last = taking;
      this.#open += 1;
      return pages$.pipe(
        tap({ complete: () => (taking.outcome = 'whole'), error: left, unsubscribe: left }),
        finalize(() => (this.#open -= 1)),
      );
    });
  }

  /** Whether a subscriber is waiting for the end. */
  get isOpen(): boolean {
    return this.#open > 0;
  }

  /** Whether the most recent subscription consumed it to the end. */
  get isWhole(): boolean {
    return this.#last?.outcome === 'whole';
  }
}
