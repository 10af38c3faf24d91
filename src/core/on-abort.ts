/** The callbacks waiting for each signal. Node warns about more than ten listeners on one, and a server may pass one signal to many reads. */
const waiting = new WeakMap<AbortSignal, Waiting>();

interface Waiting {
  readonly all: Set<() => void>;
  readonly listener: () => void;
}

/**
 * Calls a function when a signal is aborted.
 *
 * @returns Removes the callback.
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
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
