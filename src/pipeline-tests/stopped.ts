import { stoppedBy } from '../core/index.js';

/** @throws {LeadstreamError} `E_RUN_ABORTED` once the signal has fired. */
export function refuseStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw stoppedBy(signal, 'the tests were stopped by their signal');
}
