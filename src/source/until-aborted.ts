import { Observable, type MonoTypeOperatorFunction } from 'rxjs';
import { onAbort, stoppedBy } from '../core/index.js';

/**
 * Ends a stream when a signal is aborted, before any request if it already is.
 *
 * @param what What is being read, for the message.
 * @throws {LeadstreamError} `E_RUN_ABORTED`, by the stream, with the reason of the signal as its `cause`.
 */
export function untilAborted<T>(what: string, signal: AbortSignal | undefined): MonoTypeOperatorFunction<T> {
  return (stream$) => {
    if (signal === undefined) return stream$;
    return new Observable((subscriber) => {
      const abort = () => subscriber.error(stoppedBy(signal, `${what}: the read was stopped by its signal`));
      if (signal.aborted) return abort();
      subscriber.add(onAbort(signal, abort));
      subscriber.add(stream$.subscribe(subscriber));
    });
  };
}
