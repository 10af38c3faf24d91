import { BehaviorSubject, filter, takeUntil, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import type { Warning } from '../core/index.js';
import type { Plan, PlannedStep } from '../plan/index.js';

/** Ends the read of the source when a limit has its rows: pending requests are aborted, and pages that have left the source continue. */
export class EarlyStop {
  /** Index of the last step that stopped the read; -1 if none has. */
  readonly #stop$ = new BehaviorSubject(-1);

  constructor(private readonly plan: Pick<Plan, 'collection' | 'steps'>) {}

  /** Returns the operator to place directly after the source. */
  source<T>(): MonoTypeOperatorFunction<T> {
    return takeUntil(this.#after(-1));
  }

  /** Returns the function that a step calls when it needs no more rows. After a blocking step the source has already ended, so it does nothing. */
  of(step: PlannedStep): () => void {
    const place = this.plan.steps.indexOf(step);
    if (this.plan.steps.slice(0, place).some(({ blocking }) => blocking)) return () => {};
    return () => this.#stop$.next(Math.max(place, this.#stop$.value));
  }

  /** Emits as soon as a later step needs no more rows, immediately if that is already so. */
  after(step: PlannedStep): Observable<unknown> {
    return this.#after(this.plan.steps.indexOf(step));
  }

  #after(place: number): Observable<unknown> {
    return this.#stop$.pipe(filter((by) => by > place));
  }

  /** Whether rows of the list may be missing. */
  get stopped(): boolean {
    return this.#stop$.value >= 0;
  }

  warnings(): readonly Warning[] {
    const by = this.plan.steps[this.#stop$.value];
    if (!by) return [];
    const message = `${by.at} stopped the read of ${this.plan.collection.name}, so the outputs contain only part of it; later runs are not compared with this one`;
    return [{ code: 'W_RUN_PARTIAL', message }];
  }
}
