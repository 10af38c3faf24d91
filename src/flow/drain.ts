import { withRelease } from './lease.js';
import type { Page } from './page.js';

/** Counts the outstanding pages, and reports when all are released. */
export class Drain {
  #out = 0;
  readonly #waiting: (() => void)[] = [];

  /** Number of outstanding pages. */
  get out(): number {
    return this.#out;
  }

  /** Returns the same page with a lease that tracks its release. */
  track<T>(page: Page<T>): Page<T> {
    let held = true;
    this.#out += 1;
    return withRelease(page, () => {
      if (!held) return;
      held = false;
      this.#out -= 1;
      page.lease.release();
      if (this.#out === 0) for (const done of this.#waiting.splice(0)) done();
    });
  }

  /** Resolves when no page is outstanding. */
  empty(): Promise<void> {
    return new Promise((done) => {
      if (this.#out === 0) done();
      else this.#waiting.push(done);
    });
  }
}
