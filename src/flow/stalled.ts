import { Observable, type MonoTypeOperatorFunction } from 'rxjs';
import { LeadstreamError } from '../core/index.js';
import { Drain } from './drain.js';
import type { Page } from './page.js';

/** Somebody who waits. It ends that, and says whether it did. */
type Tell = () => boolean;

/**
 * Who is told that nothing will happen any more, those first that know most about it: those that hold a failure back, those that wait for
 * something of which they know what it is, those whose pages do not come back, and those that only see no end.
 */
const waiting = { failures: new Set<Tell>(), calls: new Set<Tell>(), stalls: new Set<Tell>(), ends: new Set<Tell>() };

/**
 * Tells when the process would end because its event loop has run empty: what waits then waits for ever. Whoever lives has a timer, a
 * socket or a file, and is not disturbed, however slow it is; a program that lives on for other reasons, like a server, is never told.
 *
 * @returns Takes it back. There is one listener of the process for all, and none while nobody waits.
 */
export function whenDry(kind: keyof typeof waiting, tell: Tell): () => void {
  if (!isAnybodyWaiting()) process.on('beforeExit', tellOne);
  waiting[kind].add(tell);
  return () => {
    if (waiting[kind].delete(tell) && !isAnybodyWaiting()) process.off('beforeExit', tellOne);
  };
}

function isAnybodyWaiting(): boolean {
  return Object.values(waiting).some(({ size }) => size > 0);
}

/** What one of them ends can end others, or give them something to wait for: they are told when the loop has run empty again. */
function tellOne(): void {
  // Who came last is what those before it wait for.
  const inOrder = Object.values(waiting).flatMap((kind) => [...kind].reverse());
  if (inOrder.some((tell) => tell())) setImmediate(() => {});
}

/** The failure of what can never go on. @param what In words. */
export function stalled(what: string): LeadstreamError {
  return new LeadstreamError('E_RUN_STALLED', `${what}, and nothing is left that it could wait for`);
}

/**
 * Waits for what code of somebody else promised. Without a word of this, the program would end when it never comes.
 *
 * @param what What is waited for, in words before `never settles`.
 * @throws {LeadstreamError} `E_RUN_STALLED` when it never comes.
 */
export async function unlessDry<T>(work: PromiseLike<T>, what: string, kind: 'calls' | 'ends' = 'calls'): Promise<T> {
  let takeBack = () => {};
  const never = new Promise<never>((_, reject) => {
    takeBack = whenDry(kind, () => {
      takeBack();
      reject(stalled(`${what} never settles`));
      return true;
    });
  });
  try {
    return await Promise.race([work, never]);
  } finally {
    takeBack();
  }
}

/**
 * Lets a stream fail that can never end. Otherwise the program would end without a word, with the rows that came until then.
 *
 * @param what What does not end, in words; asked for when it is told.
 * @throws {LeadstreamError} `E_RUN_STALLED`, by the stream.
 */
export function refuseEndless<T>(what: () => string, kind: 'calls' | 'ends' = 'ends'): MonoTypeOperatorFunction<T> {
  return (stream$) =>
    new Observable((subscriber) => {
      const endless = () => {
        subscriber.error(stalled(what()));
        return true;
      };
      subscriber.add(whenDry(kind, endless));
      subscriber.add(stream$.subscribe(subscriber));
    });
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
      const held = () => {
        if (drain.out === 0) return false;
        const pages = drain.out === 1 ? '1 page waits' : `${drain.out} pages wait`;
        const message = `${what}: ${pages} for page.lease.release(), and nothing is left to call it; release each page, or read the rows of fromPages(…)`;
        subscriber.error(new LeadstreamError('E_RUN_STALLED', message));
        return true;
      };
      subscriber.add(whenDry('stalls', held));
      subscriber.add(
        pages$.subscribe({
          next: (page) => subscriber.next(drain.track(page)),
          error: (error: unknown) => subscriber.error(error),
          complete: () => subscriber.complete(),
        }),
      );
    });
}
