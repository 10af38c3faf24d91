import { catchError, defer, map, tap, throwError, type Observable, type SchedulerLike } from 'rxjs';
import { SourceError, type Redactor } from '../core/index.js';
import { eventError, type Events, type RequestBegun, type RequestDone } from '../events/index.js';
import { createPacer, RateLimiter } from './pacer.js';
import { retryAttempts, type RetryPolicy } from './retry.js';
import { createThrottle } from './throttle.js';
import type { Answer, Target, Transport } from './transport.js';

/** How requests are paced and repeated. */
export interface RequestOptions {
  readonly concurrency: number;
  /** Requests that may start per second. */
  readonly ratePerSecond: number;
  readonly retry: RetryPolicy;
  /** Source of the jitter. */
  readonly random: () => number;
  /** Clock and timer for pace and retries. Default: the real ones. */
  readonly scheduler?: SchedulerLike | undefined;
  /** Shared with other clients of the service. Default: not shared. */
  readonly limiter?: RateLimiter | undefined;
  /** Where attempts are reported. It also has the credentials to redact: a service may echo the request in its answer, even as the name of a key. */
  readonly events: Events;
}

/** What events contain about a request. */
export type RequestDescription = Omit<RequestBegun, 'attempt'>;

/** The requests to one service, which share pace, throttle and retries. */
export interface Requests<A extends Answer> {
  /**
   * Makes one read with its retries. An attempt includes the decoding, so an answer that cannot be decoded is requested again.
   *
   * @param facts Called only when something watches.
   * @throws {SourceError} When every attempt failed.
   */
  read<T>(target: Target, decode: (label: string, answer: A) => T, facts: () => RequestDescription): Observable<T>;
}

export function createRequests<A extends Answer>(transport: Transport<A>, options: RequestOptions): Requests<A> {
  const { events } = options;
  const pacer = createPacer(options.ratePerSecond, options.limiter ?? new RateLimiter(options.scheduler));
  const throttle = createThrottle(options.concurrency);

  /** Makes one attempt. What a fetching thread does is reported here as well, since its answers come through this thread. */
  function attempt<T>(target: Target, decode: (label: string, answer: A) => T, begun: () => RequestBegun): Observable<T> {
    return defer(() => {
      let done: Partial<RequestDone> = {};
      const decoded$ = transport.get(target).pipe(
        map((answer) => {
          done = { status: answer.status, bytes: answer.body.length };
          return decode(target.label, answer);
        }),
        catchError((error: unknown) => {
          if (error instanceof SourceError && error.status !== undefined) done = { ...done, status: error.status };
          return throwError(() => discreet(error, events.redact));
        }),
      );
      return events.during$('request', begun, decoded$, () => done);
    });
  }

  return {
    read: (target, decode, facts) =>
      defer(() => {
        let number = 0;
        return defer(() => {
          number += 1;
          const begun = { attempt: number };
          return attempt(target, decode, () => ({ ...facts(), ...begun }));
        }).pipe(
          tap({ next: throttle.ease, error: (error: unknown) => asksForLess(error) && throttle.pushback() }),
          throttle.throttled,
          pacer.paced,
          retryAttempts(options.retry, options, ({ error, attempt: failed, delayMs }) => {
            if (asksForLess(error)) pacer.pause(delayMs);
            events.emit('retry', () => ({ url: facts().url, attempt: failed, delayMs, error: eventError(error) }));
          }),
        );
      }),
  };
}

/** Returns the same failure without credentials in its message. */
export function discreet(error: unknown, redact: Redactor): unknown {
  return error instanceof SourceError ? error.saying(redact(error.message)) : error;
}

/** Whether a service asks for less: it answers with 429, or names a time to come back. */
function asksForLess(error: unknown): boolean {
  return error instanceof SourceError && (error.status === 429 || error.retryAfterMs !== undefined);
}
