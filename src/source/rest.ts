import { timer } from 'rxjs';
import type { Consistency } from '../core/index.js';
import type { Ask } from '../flow/index.js';
import { endWaitOf, type ReadingOptions } from './options.js';

/**
 * Lets an end of a list that may be none rest before it is looked at again, and tells of it.
 *
 * @param read Rows of the list that were read so far.
 */
export type Rest = (ask: Ask, read: number) => Promise<void>;

/** The one way to wait at the end of a list; `consistency` has it in the end. */
export function restOf(collection: string, options: ReadingOptions, consistency: Pick<Consistency, 'waitedMs'>): Rest {
  const { at, events } = options;
  const delayMs = endWaitOf(options);
  return async (ask, read) => {
    events?.emit('wait', () => ({ collection, at, read, delayMs }));
    await ask(timer(delayMs));
    consistency.waitedMs += delayMs;
  };
}
