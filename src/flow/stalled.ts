import { firstValueFrom, from, Observable, type MonoTypeOperatorFunction, type Subscriber } from 'rxjs';
import { LeadstreamError } from '../core/index.js';

/** What may wait when nothing can happen any more, the most informative first. */
const kinds = ['failures', 'calls', 'stalls', 'ends'] as const;

/** A wait. `fail` ends it with a failure, and returns whether it did. */
interface Wait {
  readonly kind: (typeof kinds)[number];
  fail(): boolean;
}

const waiting = new Set<Wait>();

/**
 * Fails a stream when the process would exit because its event loop is empty: whatever still waits would wait forever. Anything active,
 * however slow, has a timer, socket or file, and is left alone; so is a program that stays alive for other reasons.
 * @param failure Returns the error; `undefined` if this stream does not wait.
 */
export function failWhenDry<T>(subscriber: Subscriber<T>, kind: Wait['kind'], failure: () => unknown): void {
  const fail = () => {
    const error = failure();
    if (error !== undefined) subscriber.error(error);
    return error !== undefined;
  };
  const wait = { kind, fail };
  if (waiting.size === 0) process.on('beforeExit', failOne);
  waiting.add(wait);
  subscriber.add(() => {
    waiting.delete(wait);
    if (waiting.size === 0) process.off('beforeExit', failOne);
  });
}

/** The end of a wait can end others, or give them something to wait for: these are called when the event loop is empty again. */
function failOne(): void {
  // Earlier waits depend on later ones.
  const latest = [...waiting].reverse();
  const inOrder = kinds.flatMap((kind) => latest.filter((wait) => wait.kind === kind));
  if (inOrder.some((wait) => wait.fail())) setImmediate(() => {});
}

export function stalled(what: string): LeadstreamError {
  return new LeadstreamError('E_RUN_STALLED', `${what}, and nothing is pending that it could wait for`);
}

/** Waits for a promise of someone else's code. @throws {LeadstreamError} `E_RUN_STALLED` if it never settles. */
export function unlessDry<T>(work: PromiseLike<T>, what: string, kind: 'calls' | 'ends' = 'calls'): Promise<T> {
  return firstValueFrom(from(work).pipe(refuseEndless(() => `${what} never settles`, kind)));
}

/** Fails a stream with `E_RUN_STALLED` if it can never end. The program would exit silently, with only the rows so far. */
export function refuseEndless<T>(what: () => string, kind: 'calls' | 'ends' = 'ends'): MonoTypeOperatorFunction<T> {
  return (stream$) =>
    new Observable((subscriber) => {
      failWhenDry(subscriber, kind, () => stalled(what()));
      subscriber.add(stream$.subscribe(subscriber));
    });
}
