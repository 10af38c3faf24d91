import type { Lease } from './page.js';

/**
 * Keeps pages inside a sliding window of places, counted from 0 in the order of the list: the page at place `n` may be fetched once every
 * page up to `n - size` was released. Granting by place, not by order of request, prevents the next page in order from starving while later
 * ones hold every place.
 */
export interface LeaseWindow {
  /** Resolves with true when the page at a place may be fetched, and with false if the window was sealed below it. */
  enter(place: number): Promise<boolean>;
  /** Returns the lease of an emitted page. */
  lease(place: number): Lease;
  /** Grants no place above `last` until the window is opened again. */
  seal(last: number): void;
  open(): void;
  /** Resolves when every lower place was released. */
  released(place: number): Promise<void>;
}

/**
 * @param size Pages that may be in flight, waiting or in a chain at a time.
 */
export function createWindow(size: number): LeaseWindow {
  /** Lowest place not yet released. */
  let base = 0;
  let last = Infinity;
  const released = new Set<number>();
  const waiting = new Map<number, (granted: boolean) => void>();
  const waitingForRelease = new Map<() => void, number>();

  function admit(): void {
    for (const [place, grant] of waiting) {
      if (place < base + size || place > last) {
        waiting.delete(place);
        grant(place <= last);
      }
    }
    for (const [done, place] of waitingForRelease) {
      if (place > base) continue;
      waitingForRelease.delete(done);
      done();
    }
  }

  function release(place: number): void {
    if (place < base) return;
    released.add(place);
    while (released.delete(base)) base += 1;
    admit();
  }

  return {
    enter: (place) =>
      new Promise((grant) => {
        waiting.set(place, grant);
        admit();
      }),
    lease: (place) => ({ release: () => release(place) }),
    seal: (place) => {
      last = Math.min(last, place);
      admit();
    },
    open: () => {
      last = Infinity;
    },
    released: (place) =>
      new Promise((done) => {
        waitingForRelease.set(done, place);
        admit();
      }),
  };
}
