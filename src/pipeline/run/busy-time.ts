import { Observable, type MonoTypeOperatorFunction } from 'rxjs';

/**
 * How long the main thread was busy with a step: the time of all calls into it (pages and ends of what it reads), without what it calls behind
 * it. A call costs four readings of a clock, and there is one for a page, never for a row.
 *
 * A step that takes all rows first does its work behind the calls; of such a one the time counts from the beginning to the end of its work.
 */
export class BusyTime {
  #ms = 0;
  /** Milliseconds behind the step during the call into it that is under way. */
  #behind = 0;
  #isInside = false;
  #workingSince: number | undefined;

  /**
   * @param blocking Whether the step takes all rows first.
   * @param now A clock, in milliseconds.
   */
  constructor(
    private readonly blocking: boolean,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Milliseconds so far. */
  get ms(): number {
    return this.#ms;
  }

  /** To be put in front of the step, and behind all else that it reads. */
  entering<T>(): MonoTypeOperatorFunction<T> {
    return this.#around((call) => this.#inside(call));
  }

  /** To be put behind the step. */
  leaving<T>(): MonoTypeOperatorFunction<T> {
    return this.#around((call) => this.#outside(call));
  }

  /** Called when a step that takes all rows begins and ends a piece of its work. */
  working(is: boolean): void {
    if (!this.blocking) return;
    const now = this.now();
    if (this.#workingSince !== undefined) this.#ms += now - this.#workingSince;
    this.#workingSince = is ? now : undefined;
  }

  #inside(call: () => void): void {
    if (this.#isInside || this.blocking) return call();
    const [start, behind] = [this.now(), this.#behind];
    this.#isInside = true;
    this.#behind = 0;
    try {
      call();
    } finally {
      this.#ms += this.now() - start - this.#behind;
      this.#behind = behind;
      this.#isInside = false;
    }
  }

  /** What is behind the step may call it again: a page that is released makes room for the next one. */
  #outside(call: () => void): void {
    if (!this.#isInside) return call();
    const [start, behind] = [this.now(), this.#behind];
    this.#isInside = false;
    try {
      call();
    } finally {
      this.#isInside = true;
      this.#behind = behind + this.now() - start;
    }
  }

  #around<T>(through: (call: () => void) => void): MonoTypeOperatorFunction<T> {
    return (source$) =>
      new Observable((subscriber) =>
        source$.subscribe({
          next: (value) => through(() => subscriber.next(value)),
          error: (failure: unknown) => subscriber.error(failure),
          complete: () => through(() => subscriber.complete()),
        }),
      );
  }
}
