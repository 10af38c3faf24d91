import { firstValueFrom, from, Observable, type MonoTypeOperatorFunction, type Subscriber } from 'rxjs';
import { LeadstreamError } from '../core/index.js';

/** Ends a wait with a failure, and returns whether it did. */
type Tell = () => boolean;

/**
 * The waits to end when nothing can happen any more, most informative first: those that hold a failure back, those that wait for a known
 * event, those whose pages are not released, and those that only see no end.
 */
const waiting = { failures: new Set<Tell>(), calls: new Set<Tell>(), stalls: new Set<Tell>(), ends: new Set<Tell>() };

/**
 * Fails a stream when the process would exit because its event loop is empty: whatever is still waiting would wait forever. Anything
 * active has a timer, socket or file, and is left alone, however slow it is. A program that stays alive for other reasons, like a server,
 * is left alone too. All waits share one process listener, which exists only while there are any.
 *
 * @param failure Returns the error; `undefined` if this stream does not wait.
 * @returns Tries it at once.
 */
export function failWhenDry<T>(subscriber: Subscriber<T>, kind: keyof typeof waiting, failure: () => unknown): Tell {
  const tell = () => {
    const error = failure();
    if (error !== undefined) subscriber.error(error);
    return error !== undefined;
  };
  if (!isAnybodyWaiting()) process.on('beforeExit', tellOne);
  waiting[kind].add(tell);
  subscriber.add(() => {
    if (waiting[kind].delete(tell) && !isAnybodyWaiting()) process.off('beforeExit', tellOne);
  });
  return tell;
}

function isAnybodyWaiting(): boolean {
  return Object.values(waiting).some(({ size }) => size > 0);
}

/** Ending one wait can end others, or give them something to wait for: these are called when the event loop is empty again. */
function tellOne(): void {
  // Earlier waits depend on later ones.
  const inOrder = Object.values(waiting).flatMap((kind) => [...kind].reverse());
  if (inOrder.some((tell) => tell())) setImmediate(() => {});
}

/** Creates the failure of something that can never continue. @param what Description. */
export function stalled(what: string): LeadstreamError {
  return new LeadstreamError('E_RUN_STALLED', `${what}, and nothing is pending that it could wait for`);
}

/**
 * Waits for a promise of someone else's code. Without this, the program would exit silently if it never settles.
 *
 * @param what Description to precede `never settles`.
 * @throws {LeadstreamError} `E_RUN_STALLED` if it never settles.
 */
export function unlessDry<T>(work: PromiseLike<T>, what: string, kind: 'calls' | 'ends' = 'calls'): Promise<T> {
  return firstValueFrom(from(work).pipe(refuseEndless(() => `${what} never settles`, kind)));
}

/**
 * Fails a stream that can never end. Otherwise the program would exit silently, with only the rows so far.
 *
 * @param what Describes what does not end.
 * @throws {LeadstreamError} `E_RUN_STALLED`, by the stream.
 */
export function refuseEndless<T>(what: () => string, kind: 'calls' | 'ends' = 'ends'): MonoTypeOperatorFunction<T> {
  return (stream$) =>
    new Observable((subscriber) => {
      failWhenDry(subscriber, kind, () => stalled(what()));
      subscriber.add(stream$.subscribe(subscriber));
    });
}
