import { Observable, timer, type SchedulerLike, type Subscription } from 'rxjs';
import { maxTimerMs } from '../options/index.js';

/** Milliseconds that a timer may be late on a busy machine. */
const lateMs = 20;

/** Queues the requests of all clients of a service. Times are in milliseconds of its clock. */
export class RateLimiter {
  readonly #waiting = new Set<{ readonly intervalMs: number; readonly start: () => void }>();
  #nextStart = 0;
  #pausedUntil = 0;
  #timer: Subscription | undefined;

  /** @param scheduler Clock and timer. Default: a clock that never goes back. */
  constructor(private readonly scheduler?: SchedulerLike) {}

  /** Emits once, when its turn has come. Unsubscribing before passes the turn on. */
  turn$(intervalMs: number): Observable<void> {
    return new Observable((subscriber) => {
      const waiting = { intervalMs, start: () => (subscriber.next(), subscriber.complete()) };
      this.#waiting.add(waiting);
      this.#advance();
      return () => {
        this.#waiting.delete(waiting);
        if (this.#waiting.size === 0) this.#stopTimer();
      };
    });
  }

  /** Holds requests that have not started for some time from now, because the service asked for it. */
  pause(delayMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#now() + delayMs);
  }

  /** Returns whether a request could start at once. */
  isFree(): boolean {
    return this.#waiting.size === 0 && Math.max(this.#nextStart, this.#pausedUntil) <= this.#now();
  }

  /** Starts the requests whose turn has come, and waits for the next one. */
  #advance(): void {
    for (const waiting of this.#waiting) {
      const now = this.#now();
      const start = Math.max(this.#nextStart, this.#pausedUntil);
      if (start > now) {
        this.#timer ??= timer(Math.min(start - now, maxTimerMs), this.scheduler).subscribe(() => {
          this.#stopTimer();
          this.#advance();
        });
        return;
      }
      this.#waiting.delete(waiting);
      // A late timer does not slow later requests, unless it was so late that they would follow too closely.
      this.#nextStart = Math.max(start, now - Math.max(waiting.intervalMs / 2, lateMs)) + waiting.intervalMs;
      waiting.start();
    }
  }

  #stopTimer(): void {
    this.#timer?.unsubscribe();
    this.#timer = undefined;
  }

  #now(): number {
    return this.scheduler?.now() ?? performance.now();
  }
}

/**
 * The rate limiters of services, by their addresses, for runs that share them.
 *
 * @example
 * const limiters = new RateLimiters(); // what asks the same service waits for the same turns
 * await Promise.all(pipelines.map((each) => runPipeline(each, { limiters })));
 */
export class RateLimiters {
  readonly #services = new Map<string, RateLimiter>();

  /** @param baseUrl Address of the service. Addresses with the same origin share a limiter. */
  of(baseUrl: string): RateLimiter {
    const { origin } = new URL(baseUrl);
    const limiter = this.#services.get(origin) ?? new RateLimiter();
    this.#services.set(origin, limiter);
    return limiter;
  }
}
