import type { Lease } from './page.js';

/**
 * Keeps pages inside a sliding window of places, counted from 0 in the order of the list: the page at place `n` may be fetched once every
 * page up to `n - size` was released. Granting by place, not by order of request, prevents the next page in order from starving while later
 * ones hold every place.
 */
export class LeaseWindow {
  /** Lowest place not yet released. */
  #base = 0;
  #last = Infinity;
  readonly #released = new Set<number>();
  readonly #waiting = new Map<number, (granted: boolean) => void>();

  /** @param size Pages that may be in flight, waiting or in a chain at a time. */
  constructor(private readonly size: number) {}

  /** Resolves with true when the page at a place may be fetched, and with false if the window was sealed below it. */
  enter(place: number): Promise<boolean> {
    return new Promise((grant) => {
      this.#waiting.set(place, grant);
      this.#admit();
    });
  }

  /** Returns the lease of an emitted page. */
  lease(place: number): Lease {
    return { release: () => this.#release(place) };
  }

  /** Grants no place above `last` until the window is opened again. */
  seal(last: number): void {
    this.#last = Math.min(this.#last, last);
    this.#admit();
  }

  open(): void {
    this.#last = Infinity;
  }

  #admit(): void {
    for (const [place, grant] of this.#waiting) {
      if (place >= this.#base + this.size && place <= this.#last) continue;
      this.#waiting.delete(place);
      grant(place <= this.#last);
    }
  }

  #release(place: number): void {
    if (place < this.#base) return;
    this.#released.add(place);
    while (this.#released.delete(this.#base)) this.#base += 1;
    this.#admit();
  }
}
