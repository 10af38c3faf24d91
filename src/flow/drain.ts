import { withRelease } from './lease.js';
import type { Page } from './page.js';

/** Counts the pages that are out, and tells when all of them are back. */
export class Drain {
  #out = 0;
  readonly #waiting: (() => void)[] = [];

  /** Pages that are out. */
  get out(): number {
    return this.#out;
  }

  /** The same page; that it is released is noticed. */
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

  /** Resolves when no page is out. */
  empty(): Promise<void> {
    return new Promise((done) => {
      if (this.#out === 0) done();
      else this.#waiting.push(done);
    });
  }
}
