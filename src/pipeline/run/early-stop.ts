import { BehaviorSubject, filter, takeUntil, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import type { Warning } from '../../core/index.js';
import type { Plan } from '../spec/plan.js';
import type { PlannedStep } from '../spec/planned.js';

/** Ends the read of the source where a limit has its rows: requests in flight are aborted, and pages that have left the source go on. */
export class EarlyStop {
  /** Place of the last step that has stopped the read; -1 while none has. */
  readonly #stop$ = new BehaviorSubject(-1);

  constructor(private readonly plan: Pick<Plan, 'collection' | 'steps'>) {}

  /** To be put right behind the source. */
  source<T>(): MonoTypeOperatorFunction<T> {
    return takeUntil(this.#after(-1));
  }

  /** What a step calls that needs no more rows. After a blocking step the source has ended by then. */
  of(step: PlannedStep): () => void {
    const place = this.plan.steps.indexOf(step);
    if (this.plan.steps.slice(0, place).some(({ blocking }) => blocking)) return () => {};
    return () => this.#stop$.next(Math.max(place, this.#stop$.value));
  }

  /** Emits as soon as a later step needs no more rows, at once if one already does not. */
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
    const message = `${by.at} stopped the read of ${this.plan.collection.name}, so the outputs hold a part of it; no later run is compared with this one`;
    return [{ code: 'W_RUN_PARTIAL', message }];
  }
}
