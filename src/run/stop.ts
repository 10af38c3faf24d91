import { finalize, Subscription, type Observable } from 'rxjs';
import { LeadstreamError, onAbort, stoppedBy } from '../core/index.js';

/** Returns a signal that is aborted with another one or when a deadline passes, and what forgets the deadline. */
export function stopBy(given: AbortSignal | undefined, deadlineMs: number | undefined) {
  const late = new AbortController();
  const pass = () => late.abort(new LeadstreamError('E_RUN_DEADLINE', 'the run passed its deadline'));
  const timer = deadlineMs === undefined ? undefined : setTimeout(pass, deadlineMs);
  return { signal: AbortSignal.any([late.signal, ...(given ? [given] : [])]), forget: () => clearTimeout(timer) };
}

/** Waits for the end of a stream; a signal ends it immediately. */
export function completed(stream$: Observable<unknown>, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const subscription = new Subscription();
    const aborted = () => {
      subscription.unsubscribe();
      if (signal) reject(stoppedBy(signal, outcome));
    };
    if (signal) subscription.add(onAbort(signal, aborted));
    if (signal?.aborted) aborted();
    else subscription.add(stream$.pipe(finalize(() => subscription.unsubscribe())).subscribe({ error: reject, complete: resolve }));
  });
}

/** Checks the signal where no stream is running that it would end. @throws {LeadstreamError} `E_RUN_ABORTED`, `E_RUN_DEADLINE`. */
export function refuseStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw stoppedBy(signal, outcome);
}

const outcome = 'the run was stopped; nothing was published';
