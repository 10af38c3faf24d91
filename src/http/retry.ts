import { defer, retry, throwError, timer, type Observable, type SchedulerLike } from 'rxjs';
import { SourceError } from '../core/index.js';
import { maxTimerMs } from '../options/index.js';

/** Times in milliseconds; `attempts` counts the first one. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly baseMs: number;
  readonly capMs: number;
}

/** What is reported of a failed attempt that will be repeated. */
export interface RetryNotice {
  readonly error: SourceError;
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number;
  readonly delayMs: number;
}

/** Attempts at an answer that arrived but is not a list of records: the service rarely changes its mind. */
const suspectAttempts = 3;
/** A service that asks to wait longer than this is left to another run. */
const maxWaitMs = 5 * 60_000;

/**
 * Repeats a failed attempt with exponential backoff and full jitter: `random * min(cap, base * 2^(n-1))`, with `Retry-After` as a floor. Permanent failures,
 * and a requested wait of more than five minutes, end it at once.
 *
 * @throws {SourceError} The failure of the last attempt.
 */
export function retryAttempts(
  policy: RetryPolicy,
  { random, scheduler }: { readonly random: () => number; readonly scheduler?: SchedulerLike | undefined },
  onRetry: (notice: RetryNotice) => void,
): <T>(attempt$: Observable<T>) => Observable<T> {
  return (attempt$) =>
    defer(() => {
      let failed = 0;
      let suspect = 0;
      return attempt$.pipe(
        retry({
          delay: (error: unknown) => {
            failed += 1;
            if (!(error instanceof SourceError) || error.kind === 'permanent') return throwError(() => error);
            if (error.kind === 'suspect') suspect += 1;
            if (failed >= policy.attempts || suspect >= suspectAttempts) return throwError(() => exhausted(error, failed));
            const floor = error.retryAfterMs ?? 0;
            if (floor > maxWaitMs) return throwError(() => tooLong(error, floor));
            const delayMs = Math.max(floor, random() * Math.min(policy.capMs, maxTimerMs, policy.baseMs * 2 ** (failed - 1)));
            onRetry({ error, attempt: failed, delayMs });
            return timer(delayMs, scheduler);
          },
        }),
      );
    });
}

function exhausted(error: SourceError, attempts: number): SourceError {
  return error.saying(`${error.message} (after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'})`);
}

function tooLong(error: SourceError, waitMs: number): SourceError {
  return error.saying(
    `${error.message}: the service asks to wait ${Math.ceil(waitMs / 1000)} s, but a run waits at most ${maxWaitMs / 1000} s`,
  );
}
