import { EMPTY, concat, defer, type Observable } from 'rxjs';
import { warnProcess, type Warning } from '../core/index.js';
import { emptyTally, standalone, type StepContext } from './context.js';
import type { Step } from './page.js';
import { Passage } from './passage.js';
import type { CountedStep, ReadFor, RowSource } from './row-source.js';
import { refuseEndless } from './stalled.js';
import type { Reading } from './step-facts.js';

/** One read of a stream: what its steps count, how far they read, what they judge at its end, and where their warnings go. */
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

  /** To those who watch the connection and those who want to hear of this read; where nobody does, as a warning of the process. */
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

  /** Watches what a step gives, or the source; in their order. What a step counted of rows that came to nothing, as before a `retry`, it counts anew. */
  watched<T>(pages$: Observable<T>, from: string, isBlocking = false): Observable<T> {
    // What was counted since the last one, by the step that gives it.
    const counted = this.steps.slice(this.#watchedSteps);
    this.#watchedSteps = this.steps.length;
    const passage = new Passage(from, isBlocking, () => counted.forEach(({ tally }) => Object.assign(tally, emptyTally())));
    this.#passages.push(passage);
    return passage.watch(pages$);
  }

  /** What comes out behind the last step: it ends, and what the steps judge then may refuse it. */
  concluded<T>(pages$: Observable<T>): Observable<T> {
    const judged$ = defer(() => {
      for (const judge of this.#judgements) judge();
      return EMPTY;
    });
    return concat(pages$, judged$).pipe(
      refuseEndless(() => `${this.#passages.find(({ isOpen }) => isOpen)?.from ?? 'the stream'} never ends`),
    );
  }

  /** Whether rows of the source were left. A step that takes all rows first has read what is cut off behind it. */
  get isPartial(): boolean {
    const blocking = this.#passages.findIndex(({ isBlocking }) => isBlocking);
    const fromSource = blocking < 0 ? this.#passages : this.#passages.slice(0, blocking);
    return fromSource.some(({ isWhole }) => !isWhole);
  }
}

/**
 * A step outside of `RowStream.pipe`: each subscription is a read of its own, and warnings go to the process.
 *
 * @param at Name of the step in messages.
 * @param opened The step for a read.
 */
export function onItsOwn<In, Out>(at: string, opened: (reading: Reading) => Step<In, Out>): Step<In, Out> {
  return (pages$) =>
    defer(() => {
      const reading = new OpenReading({ purpose: 'reading' }, {});
      const source$ = reading.watched(pages$, 'the source of the rows');
      return reading.concluded(reading.watched(opened(reading)(source$), at));
    });
}
