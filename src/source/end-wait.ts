import { timer } from 'rxjs';
import type { Consistency } from '../core/index.js';
import type { Ask } from '../flow/index.js';
import { endWaitOf, type ReadingOptions } from './options.js';

/**
 * Waits before an end of a list that may be none is checked again, and reports the wait.
 *
 * @param read Rows of the list that were read so far.
 */
export type EndWait = (ask: Ask, read: number) => Promise<void>;

/** The only place that waits at the end of a list; `consistency.waitedMs` is the total. */
export function endWait(collection: string, options: ReadingOptions, consistency: Pick<Consistency, 'waitedMs'>): EndWait {
  const { at, events } = options;
  const delayMs = endWaitOf(options);
  return async (ask, read) => {
    events?.emit('wait', () => ({ collection, at, read, delayMs }));
    await ask(timer(delayMs));
    consistency.waitedMs += delayMs;
  };
}
