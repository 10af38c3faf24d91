import { defer, switchMap, timer, type Observable, type SchedulerLike } from 'rxjs';

/** Spreads the requests of a run over time. */
export interface Pacer {
  /** Lets the source be subscribed when its turn has come. */
  paced<T>(request$: Observable<T>): Observable<T>;
  /** Holds every request that has not started for so many milliseconds from now: the service asked for it. */
  pause(delayMs: number): void;
}

/**
 * @param perSecond Requests that may start per second; `Infinity` does not limit.
 * @param scheduler Clock and timer. Default: a clock that never goes back.
 */
export function createPacer(perSecond: number, scheduler?: SchedulerLike): Pacer {
  const now = () => scheduler?.now() ?? performance.now();
  const intervalMs = 1000 / perSecond;
  let nextStart = 0;
  let pausedUntil = 0;

  function reserve(): number {
    const time = now();
    const start = Math.max(time, nextStart);
    nextStart = start + intervalMs;
    return start - time;
  }

  /** A pause that began while a request waited sends it to the end of the line. */
  function paced<T>(request$: Observable<T>): Observable<T> {
    return defer(() => {
      const waitMs = reserve();
      if (waitMs <= 0) return request$;
      return timer(waitMs, scheduler).pipe(switchMap(() => (now() < pausedUntil ? paced(request$) : request$)));
    });
  }

  return {
    paced,
    pause: (delayMs) => {
      pausedUntil = Math.max(pausedUntil, now() + delayMs);
      nextStart = Math.max(nextStart, pausedUntil);
    },
  };
}
