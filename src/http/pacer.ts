import { defer, switchMap, timer, type Observable, type SchedulerLike } from 'rxjs';

/** Spreads the requests of a run over time. */
export interface Pacer {
  /** Lets the source be subscribed when its turn has come. */
  paced<T>(request$: Observable<T>): Observable<T>;
  /** Holds every request that has not started for so many milliseconds from now: the service asked for it. */
  pause(delayMs: number): void;
}

/** When the next request to a service may start, for all who ask it. Times in milliseconds of the clock of the pacer. */
export interface RateLimiter {
  nextStart: number;
  pausedUntil: number;
}

/**
 * The rate limiters of services, by their addresses, for runs that have them in common.
 *
 * @example
 * const limiters = new RateLimiters(); // what asks the same service waits for the same turns
 * await Promise.all(pipelines.map((each) => runPipeline(each, { limiters })));
 */
export class RateLimiters {
  readonly #services = new Map<string, RateLimiter>();

  /** @param baseUrl What stands below it is the same service. */
  of(baseUrl: string): RateLimiter {
    const { origin } = new URL(baseUrl);
    const limiter = this.#services.get(origin) ?? newRateLimiter();
    this.#services.set(origin, limiter);
    return limiter;
  }
}

export function newRateLimiter(): RateLimiter {
  return { nextStart: 0, pausedUntil: 0 };
}

/**
 * @param perSecond Requests that may start per second; `Infinity` does not limit.
 * @param scheduler Clock and timer. Default: a clock that never goes back.
 * @param limiter What it has in common with other pacers of the same clock. Default: nothing.
 */
export function createPacer(perSecond: number, scheduler?: SchedulerLike, limiter: RateLimiter = newRateLimiter()): Pacer {
  const now = () => scheduler?.now() ?? performance.now();
  const intervalMs = 1000 / perSecond;

  function reserve(): number {
    const time = now();
    const start = Math.max(time, limiter.nextStart);
    limiter.nextStart = start + intervalMs;
    return start - time;
  }

  /** A pause that began while a request waited sends it to the end of the line. */
  function paced<T>(request$: Observable<T>): Observable<T> {
    return defer(() => {
      const waitMs = reserve();
      if (waitMs <= 0) return request$;
      return timer(waitMs, scheduler).pipe(switchMap(() => (now() < limiter.pausedUntil ? paced(request$) : request$)));
    });
  }

  return {
    paced,
    pause: (delayMs) => {
      limiter.pausedUntil = Math.max(limiter.pausedUntil, now() + delayMs);
      limiter.nextStart = Math.max(limiter.nextStart, limiter.pausedUntil);
    },
  };
}
