import { Observable, type MonoTypeOperatorFunction } from 'rxjs';
import { stoppedBy } from '../core/index.js';

/**
 * Ends a stream when a signal is aborted, before anything is asked for where it is already.
 *
 * @param what What is read, for the message.
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

/** What waits for a signal. Node warns of more than ten listeners on one, and a server may give one to many reads. */
const waiting = new WeakMap<AbortSignal, Waiting>();

interface Waiting {
  readonly all: Set<() => void>;
  readonly listener: () => void;
}

/** @returns Takes it back. */
function onAbort(signal: AbortSignal, act: () => void): () => void {
  const known = waiting.get(signal) ?? listening(signal);
  known.all.add(act);
  return () => {
    known.all.delete(act);
    if (known.all.size > 0 || waiting.get(signal) !== known) return;
    waiting.delete(signal);
    signal.removeEventListener('abort', known.listener);
  };
}

function listening(signal: AbortSignal): Waiting {
  const all = new Set<() => void>();
  const listener = () => {
    for (const act of [...all]) act();
  };
  signal.addEventListener('abort', listener, { once: true });
  const known = { all, listener };
  waiting.set(signal, known);
  return known;
}
