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
  /** Of all these clients. */
  readonly throttle = new Throttle();

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

/** Answers in a row that restore a place. */
const answersPerPlace = 20;

/** Limits how many requests run at once: fewer while the service pushes back. Clients with different limits take turns. */
class Throttle {
  #places = Infinity;
  #running = 0;
  #answers = 0;
  readonly #waiting = new Map<() => void, number>();

  /** Waits until fewer than `most` requests run, in the order of the calls; the end of the request makes room for the next. */
  throttled<T>(most: number, request$: Observable<T>): Observable<T> {
    return new Observable<T>((subscriber) => {
      const start = () => {
        this.#running += 1;
        subscriber.add(request$.subscribe(subscriber));
      };
      this.#waiting.set(start, most);
      this.#admit();
      return () => {
        const isWaiting = this.#waiting.delete(start);
        if (!isWaiting) this.#running -= 1;
        this.#admit();
      };
    });
  }

  isOpen(most: number): boolean {
    return this.#places >= most;
  }

  /** Halves the places, because the service asked for less. */
  pushback(most: number): void {
    this.#places = Math.max(1, Math.floor(Math.min(this.#places, most) / 2));
    this.#answers = 0;
  }

  /** Counts an answer; enough of them in a row add a place. */
  ease(): void {
    this.#answers += 1;
    if (this.#answers < answersPerPlace || this.#places === Infinity) return;
    this.#answers = 0;
    this.#places += 1;
    this.#admit();
  }

  #admit(): void {
    for (const [start, most] of this.#waiting) {
      if (this.#running >= Math.min(this.#places, most)) return;
      this.#waiting.delete(start);
      start();
    }
  }
}

/**
 * The rate limiters of services, by their addresses, for runs that share them, with the number of their requests at once.
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
