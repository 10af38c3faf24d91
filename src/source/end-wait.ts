import { timer } from 'rxjs';
import type { Consistency } from '../core/index.js';
import type { Ask } from '../flow/index.js';
import { endWaitOf, type ReadingOptions } from './options.js';

/**
 * Waits before re-checking a possible end of a list, and reports the wait.
 *
 * @param read Rows of the list read so far.
 */
export type EndWait = (ask: Ask, read: number) => Promise<void>;

/** Creates the wait at the end of a list, the only place that waits there; `consistency.waitedMs` is the total. */
export function endWait(collection: string, options: ReadingOptions, consistency: Pick<Consistency, 'waitedMs'>): EndWait {
  const { at, events } = options;
  const delayMs = endWaitOf(options);
  return async (ask, read) => {
    events?.emit('wait', () => ({ collection, at, read, delayMs }));
    await ask(timer(delayMs));
    consistency.waitedMs += delayMs;
  };
}
