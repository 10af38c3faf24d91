import { finalize, Subscription, type Observable, BehaviorSubject, filter, takeUntil, type MonoTypeOperatorFunction } from 'rxjs';
import { LeadstreamError, onAbort, stoppedBy, type Warning } from '../core/index.js';
import type { Plan, PlannedStep } from '../plan/index.js';

/** Waits for the end of a stream; a signal or the deadline ends it immediately. */
export function completed(stream$: Observable<unknown>, signal?: AbortSignal, deadlineMs?: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const subscription = new Subscription();
    const stop = (error: LeadstreamError) => {
      subscription.unsubscribe();
      reject(error);
    };
    const aborted = () => signal && stop(stopped(signal));
    const late = () => stop(new LeadstreamError('E_RUN_DEADLINE', 'the run passed its deadline; nothing was published'));
    const timer = deadlineMs === undefined ? undefined : setTimeout(late, deadlineMs);
    subscription.add(() => clearTimeout(timer));
    if (signal) subscription.add(onAbort(signal, aborted));
    if (signal?.aborted) aborted();
    else subscription.add(stream$.pipe(finalize(() => subscription.unsubscribe())).subscribe({ error: reject, complete: resolve }));
  });
}

/**
 * Checks the signal where no stream is running that it would end.
 *
 * @throws {LeadstreamError} `E_RUN_ABORTED` after the signal.
 */
export function refuseStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw stopped(signal);
}

function stopped(signal: AbortSignal): LeadstreamError {
  return stoppedBy(signal, 'the run was stopped; nothing was published');
}

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
    if (this.plan.steps.slice(0, place).some(({ definition }) => definition.blocking)) return () => {};
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
