import { Subject, takeUntil, type MonoTypeOperatorFunction } from 'rxjs';
import type { Warning } from '../../core/index.js';
import type { Plan, PlannedStep } from '../spec/plan.js';

/** Ends the read of the source where a limit has its rows: requests in flight are aborted, and pages that have left the source go on. */
export class EarlyStop {
  readonly #stop$ = new Subject<void>();
  #by: string | undefined;

  constructor(private readonly plan: Pick<Plan, 'collection' | 'steps'>) {}

  /** To be put right behind the source. */
  source<T>(): MonoTypeOperatorFunction<T> {
    return takeUntil(this.#stop$);
  }

  /** What a step calls that needs no more rows. After a blocking step the source has ended by then. */
  of(step: PlannedStep): () => void {
    const before = this.plan.steps.slice(0, this.plan.steps.indexOf(step));
    if (before.some(({ blocking }) => blocking)) return () => {};
    return () => {
      this.#by ??= step.at;
      this.#stop$.next();
    };
  }

  /** Whether rows of the list may be missing. */
  get stopped(): boolean {
    return this.#by !== undefined;
  }

  warnings(): readonly Warning[] {
    if (this.#by === undefined) return [];
    const message = `${this.#by} stopped the read of ${this.plan.collection.name}, so the outputs hold a part of it; no later run is compared with this one`;
    return [{ code: 'W_RUN_PARTIAL', message }];
  }
}
