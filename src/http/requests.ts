import { type Observable, catchError, defer, fromEvent, lastValueFrom, map, of, retry, switchMap, takeUntil } from 'rxjs';
import { throwError, throwIfEmpty, timer } from 'rxjs';
import { SourceError, soonAfter, stoppedBy, type Redactor } from '../core/index.js';
import { eventError, type Events, type RequestBegun, type RequestDone } from '../events/index.js';
import { defaults, maxTimerMs } from '../options/index.js';
import { RateLimiter } from './pacer.js';
import { proxyFor } from './proxy.js';
import type { HttpAnswer, Target, Transport, TransportOptions } from './transport.js';

export interface RequestOptions {
  readonly concurrency: number;
  readonly ratePerSecond: number;
  readonly retry: RetryPolicy;
  readonly random: () => number;
  /** Shared with other clients of the service. Default: none. */
  readonly limiter?: RateLimiter | undefined;
  /** Where attempts are reported, with the credentials to redact: a service may echo the request in its answer, even as a key's name. */
  readonly events: Events;
}

export type RequestDescription = Omit<RequestBegun, 'attempt'>;

/** Returns functions for the requests to one service, which share pace, throttle and retries. */
export function createRequests<A extends HttpAnswer>(transport: Transport<A>, options: RequestOptions) {
  const { concurrency, events, limiter = new RateLimiter() } = options;
  const { throttle } = limiter;

  /**
   * Makes one read with its retries. An attempt includes the decoding, so an answer that cannot be decoded is requested again. What a
   * fetching thread does is reported here as well, since its answers come through this thread.
   *
   * @param first$ The outcome of the first attempt, if it was already made.
   */
  const read = <T>(target: Target, decode: (label: string, answer: A) => T, facts: () => RequestDescription, first$?: Observable<A>) => {
    const decoded = (answer$: Observable<A>, attempt: number) => {
      let done: Partial<RequestDone> = {};
      const decoded$ = answer$.pipe(
        map((answer) => {
          done = { status: answer.status, bytes: answer.body.length };
          const value = decode(target.label, answer);
          throttle.ease();
          return value;
        }),
        catchError((error: unknown) => {
          if (error instanceof SourceError && error.status !== undefined) done = { ...done, status: error.status };
          if (asksForLess(error)) throttle.pushback(concurrency);
          return throwError(() => discreet(error, events.redact));
        }),
      );
      return events.during$(
        'request',
        () => ({ ...facts(), attempt }),
        decoded$,
        () => done,
      );
    };
    const attempts = retryAttempts(options.retry, options, (error, failed, delayMs) => {
      if (asksForLess(error)) limiter.pause(delayMs);
      events.emit('retry', () => ({ url: facts().url, attempt: failed, delayMs, error: eventError(error) }));
    });
    return attempts((number) => {
      // What was received waits for nothing: the time that the service asks for has begun.
      if (number === 1 && first$) return decoded(first$, number);
      const turn$ = limiter.turn$(1000 / options.ratePerSecond);
      return turn$.pipe(switchMap(() => throttle.throttled(concurrency, decoded(transport.get(target), number))));
    });
  };

  /** Makes requests in one turn; none if they have to wait, the service has asked for fewer, or somebody follows the beginning of each. */
  const whenFree = <T>(outcomes$: Observable<readonly T[]>) => {
    const areFree = () =>
      options.ratePerSecond === Infinity && throttle.isOpen(concurrency) && limiter.isFree() && !events.follows('request');
    return throttle.throttled(
      concurrency,
      defer(() => (areFree() ? outcomes$ : of([]))),
    );
  };

  return { read, whenFree };
}

export function discreet(error: unknown, redact: Redactor): unknown {
  return error instanceof SourceError ? error.withMessage(redact(error.message)) : error;
}

function asksForLess(error: unknown): boolean {
  return error instanceof SourceError && (error.status === 429 || error.retryAfterMs !== undefined);
}

/** Times in milliseconds; `attempts` counts the first one. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly baseMs: number;
  readonly capMs: number;
}

/** Attempts at an answer that is not a list of records: the service rarely changes its mind. */
const suspectAttempts = 3;
/** Longer waits that a service asks for are left to another run. */
const maxWaitMs = 5 * 60_000;

/** Makes attempts, numbered from 1: exponential backoff with full jitter, `random * min(cap, base * 2^(n-1))`, at least `Retry-After`. */
export function retryAttempts(
  policy: RetryPolicy,
  { random, signal }: Pick<RequestOptions, 'random'> & Pick<Exchange, 'signal'>,
  onRetry: (error: SourceError, failed: number, delayMs: number) => void,
): <T>(attempt: (number: number) => Observable<T>) => Observable<T> {
  return (attempt) =>
    defer(() => {
      let [number, suspect] = [0, 0];
      return defer(() => attempt((number += 1))).pipe(
        retry({
          delay: (error: unknown, failed) => {
            if (!(error instanceof SourceError) || error.kind === 'permanent') return throwError(() => error);
            if (error.kind === 'suspect') suspect += 1;
            if (failed >= policy.attempts || suspect >= suspectAttempts || signal?.aborted)
              return throwError(() => (failed === 1 ? error : error.withMessage(`${error.message} (after ${failed} attempts)`)));
            const floor = error.retryAfterMs ?? 0;
            if (floor > maxWaitMs) {
              const wait = `the service asks to wait ${Math.ceil(floor / 1000)} s, but a run waits at most ${maxWaitMs / 1000} s`;
              return throwError(() => error.withMessage(`${error.message}: ${wait}`));
            }
            const delayMs = Math.max(floor, random() * Math.min(policy.capMs, maxTimerMs, policy.baseMs * 2 ** (failed - 1)));
            onRetry(error, failed, delayMs);
            return timer(delayMs);
          },
        }),
      );
    });
}

/** A request to a server other than the service; `attempts` may repeat a POST only if the server does not mind. */
export interface Exchange extends Pick<Target, 'label' | 'post' | 'reasonIn'>, Pick<TransportOptions, 'headers' | 'attemptMs'> {
  readonly url: string;
  readonly attempts: number;
  /** Stops the run: an attempt has to end soon, and is the last. */
  readonly signal?: AbortSignal | undefined;
  /** `false` for none. Default: from the environment. */
  readonly proxy?: string | false;
}

/** Makes a request as to the service. Status 404 is an answer. @throws {SourceError} With the status, for a refusal. */
export async function exchange({ url, attempts, proxy: given, headers, attemptMs, signal, ...target }: Exchange): Promise<HttpAnswer> {
  const base = new URL(url);
  const { origin, pathname, search } = base;
  base.pathname = base.search = base.hash = '';
  const { timeoutMs, maxPageBytes, baseMs, capMs } = defaults;
  const connection = { baseUrl: base.href, query: {}, concurrency: 1, timeoutMs, maxPageBytes, proxy: proxyFor(origin, given) };
  const transport = openTransport({ ...connection, ...(headers && { headers }), ...(attemptMs !== undefined && { attemptMs }) });
  const answer$ = transport.get({ ...target, path: pathname, query: search.slice(1) });
  const answered$ = retryAttempts({ attempts, baseMs, capMs }, { random: Math.random, signal }, () => undefined)(() => answer$);
  try {
    return await soonAfter(signal, (late) => {
      const failure = () => stoppedBy(late, `the run was stopped; no answer to ${target.label}`);
      return lastValueFrom(answered$.pipe(takeUntil(fromEvent(late, 'abort')), throwIfEmpty(failure)));
    });
  } finally {
    await transport.close();
  }
}

export const loadTransport = () => import('./transport.js');

/** Creates a transport for this thread. Its first request loads the HTTP library, which a thread that does not fetch thus never loads. */
export function openTransport(options: TransportOptions): Transport {
  let opened: Promise<Transport> | undefined;
  const open = () => loadTransport().then(({ createTransport }) => createTransport(options));
  return {
    get: (target) => defer(() => (opened ??= open())).pipe(switchMap((transport) => transport.get(target))),
    close: async () => {
      const transport = await opened?.catch(() => undefined);
      await transport?.close();
    },
  };
}
