import { Observable, type MonoTypeOperatorFunction } from 'rxjs';

/**
 * Measures how long the main thread was busy with a step: the time of all calls into it (pages and completion of its inputs), minus the time of its calls to
 * what follows. Each call costs four clock readings, once per page, never per row.
 *
 * A blocking step works outside of these calls, so its time is measured from the start to the end of its work.
 */
export class BusyTime {
  #ms = 0;
  /** Milliseconds spent after the step during the current call into it. */
  #behind = 0;
  #isInside = false;
  #workingSince: number | undefined;

  /**
   * @param blocking Whether the step takes all rows first.
   * @param now Returns the time in milliseconds.
   */
  constructor(
    private readonly blocking: boolean,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Milliseconds so far. */
  get ms(): number {
    return this.#ms;
  }

  /** Returns the operator to place directly before the step, after everything else that it reads. */
  entering<T>(): MonoTypeOperatorFunction<T> {
    return this.#around((call) => this.#inside(call));
  }

  /** Returns the operator to place directly after the step. */
  leaving<T>(): MonoTypeOperatorFunction<T> {
    return this.#around((call) => this.#outside(call));
  }

  /** Called when a blocking step starts and stops work. */
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

  /** Handles calls back into the step: when a later step releases a page, the next one can follow. */
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
