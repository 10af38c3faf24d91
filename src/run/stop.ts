import { lastValueFrom, type Observable } from 'rxjs';
import { LeadstreamError, stoppedBy } from '../core/index.js';
import { untilAborted } from '../source/index.js';

/** Returns a signal that is aborted with another or after a deadline, and a function that forgets the deadline. */
export function stopBy(given: AbortSignal | undefined, deadlineMs: number | undefined) {
  const late = new AbortController();
  const pass = () => late.abort(new LeadstreamError('E_RUN_DEADLINE', 'the run passed its deadline'));
  const timer = deadlineMs === undefined ? undefined : setTimeout(pass, deadlineMs);
  return { signal: AbortSignal.any([late.signal, ...(given ? [given] : [])]), forget: () => clearTimeout(timer) };
}

/** Waits for the end of a stream; a signal ends it at once. */
export async function completed(stream$: Observable<unknown>, signal?: AbortSignal): Promise<void> {
  await lastValueFrom(stream$.pipe(untilAborted(signal, outcome)), { defaultValue: undefined });
}

/** Checks the signal where it ends no stream. @throws {LeadstreamError} `E_RUN_ABORTED`, `E_RUN_DEADLINE`. */
export function refuseStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw stoppedBy(signal, outcome);
}

const outcome = 'the run was stopped; nothing was published';
