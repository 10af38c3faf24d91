import { finalize, Subscription, type Observable } from 'rxjs';
import { LeadstreamError, onAbort, stoppedBy } from '../core/index.js';

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

/** Checks the signal where no stream is running that it would end. @throws {LeadstreamError} `E_RUN_ABORTED`. */
export function refuseStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw stopped(signal);
}

function stopped(signal: AbortSignal): LeadstreamError {
  return stoppedBy(signal, 'the run was stopped; nothing was published');
}
