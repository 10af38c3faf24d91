import type { Lease } from './page.js';

/**
 * Keeps pages inside a sliding window of page numbers: page `n` may be fetched once every page up to `n - size` was
 * released. Granting by number, and not by order of asking, keeps the next page in order from starving while later
 * ones hold every place.
 */
export interface Window {
  /** Resolves when page `n` may be fetched; never, when the window was sealed below it. */
  enter(n: number): Promise<void>;
  /** The place of page `n`, to be given back. */
  lease(n: number): Lease;
  /** Grants no page above `last` any more. */
  seal(last: number): void;
}

/**
 * @param size Pages that may be in flight, waiting or in a chain at once.
 * @param first Number of the first page.
 */
export function createWindow(size: number, first: number): Window {
  /** Lowest page that was not released. */
  let base = first;
  let last = Infinity;
  const released = new Set<number>();
  const waiting = new Map<number, () => void>();

  function admit(): void {
    for (const [n, grant] of waiting) {
      if (n >= base + size) continue;
      waiting.delete(n);
      if (n <= last) grant();
    }
  }

  function release(n: number): void {
    if (n < base) return;
    released.add(n);
    while (released.delete(base)) base += 1;
    admit();
  }

  return {
    enter: (n) =>
      new Promise((grant) => {
        waiting.set(n, grant);
        admit();
      }),
    lease: (n) => ({ release: () => release(n) }),
    seal: (n) => {
      last = Math.min(last, n);
    },
  };
}
