import { Observable, type MonoTypeOperatorFunction } from 'rxjs';
import { LeadstreamError } from '../core/index.js';
import { Drain } from './drain.js';
import type { Page } from './page.js';

/** Who is told that nothing will happen any more: first those that hold a failure back, which says more than that all stands still. */
const told = { failures: new Set<() => void>(), stalls: new Set<() => void>() };

/**
 * Tells when the process would end because its event loop has run empty: what waits then waits for ever. Whoever lives has a timer, a
 * socket or a file, and is not disturbed, however slow it is; a program that lives on for other reasons, like a server, is never told.
 *
 * @returns Takes it back. There is one listener of the process for all, and none while nobody waits.
 */
export function whenDry(kind: keyof typeof told, tell: () => void): () => void {
  if (told.failures.size + told.stalls.size === 0) process.on('beforeExit', notifyAll);
  told[kind].add(tell);
  return () => {
    told[kind].delete(tell);
    if (told.failures.size + told.stalls.size === 0) process.off('beforeExit', notifyAll);
  };
}

function notifyAll(): void {
  for (const kind of [told.failures, told.stalls]) for (const tell of kind) tell();
}

/**
 * Lets a stream fail when its pages were not released and nothing can release them any more. Otherwise the program would end without a
 * word, in the middle of the list. No patience has to be chosen: a page may be held for an hour by whoever works for an hour.
 *
 * @param what What the pages are of, for the message.
 * @throws {LeadstreamError} `E_RUN_STALLED`, by the stream.
 */
export function refuseDry<T>(what: string): MonoTypeOperatorFunction<Page<T>> {
  return (pages$) =>
    new Observable((subscriber) => {
      const drain = new Drain();
      const stalled = () => {
        if (drain.out === 0) return;
        const pages = drain.out === 1 ? '1 page waits' : `${drain.out} pages wait`;
        const message = `${what}: ${pages} for page.lease.release(), and nothing is left to call it; release each page, or read the rows of fromPages(…)`;
        subscriber.error(new LeadstreamError('E_RUN_STALLED', message));
      };
      subscriber.add(whenDry('stalls', stalled));
      subscriber.add(
        pages$.subscribe({
          next: (page) => subscriber.next(drain.track(page)),
          error: (error: unknown) => subscriber.error(error),
          complete: () => subscriber.complete(),
        }),
      );
    });
}
