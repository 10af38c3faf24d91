import { catchError, map, tap, throwError, type Observable } from 'rxjs';
import { SourceError, type Redactor } from '../core/index.js';
import { createPacer } from './pacer.js';
import { retryAttempts, type RetryNotice, type RetryPolicy } from './retry.js';
import { createThrottle } from './throttle.js';
import type { Answer, Target, Transport } from './transport.js';

/** How requests are paced and repeated. */
export interface RequestOptions {
  readonly concurrency: number;
  /** Requests that may start per second. */
  readonly ratePerSecond: number;
  readonly retry: RetryPolicy;
  readonly onRetry?: ((notice: RetryNotice) => void) | undefined;
  /** Source of the jitter. */
  readonly random: () => number;
  /** Takes credentials out of messages: a service may answer with what it was asked, even as the name of a key. */
  readonly redact: Redactor;
}

/** The requests to one service: they share pace, throttle and retries. */
export interface Requests<A extends Answer> {
  /**
   * One read with its retries; an attempt is request and decoding, so that an answer that cannot be decoded is asked for again.
   *
   * @throws {SourceError} When every attempt failed.
   */
  read<T>(target: Target, decode: (label: string, answer: A) => T): Observable<T>;
}

export function createRequests<A extends Answer>(transport: Transport<A>, options: RequestOptions): Requests<A> {
  const { redact } = options;
  const pacer = createPacer(options.ratePerSecond);
  const throttle = createThrottle(options.concurrency);
  const retry = retryAttempts(options.retry, options.random, (notice) => {
    if (asksForLess(notice.error)) pacer.pause(notice.delayMs);
    options.onRetry?.(notice);
  });

  return {
    read: (target, decode) =>
      transport.get(target).pipe(
        map((answer) => decode(target.label, answer)),
        catchError((error: unknown) => throwError(() => discreet(error, redact))),
        tap({ next: throttle.ease, error: (error: unknown) => asksForLess(error) && throttle.pushback() }),
        throttle.throttled,
        pacer.paced,
        retry,
      ),
  };
}

/** The same failure without credentials in its message. */
export function discreet(error: unknown, redact: Redactor): unknown {
  return error instanceof SourceError ? error.saying(redact(error.message)) : error;
}

/** A service that is pushed too hard says so by 429, or names a time to come back. */
function asksForLess(error: unknown): boolean {
  return error instanceof SourceError && (error.status === 429 || error.retryAfterMs !== undefined);
}
