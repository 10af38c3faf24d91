import { Observable, type MonoTypeOperatorFunction } from 'rxjs';
import { withLease, type Lease, type Page } from './page.js';

/** The leases that others wrap. */
const origins = new WeakMap<Lease, Lease>();
const kept = new WeakSet<Lease>();

/** Returns the same page with a lease that calls another function when released. */
export function withRelease<T>(page: Page<T>, release: () => void): Page<T> {
  const lease = { release };
  origins.set(lease, page.lease);
  return withLease(page, lease);
}

/** Keeps a page beyond the call that delivered it; the caller must then release it. Call this within that call. */
export function keep({ lease }: Page<unknown>): void {
  for (let each: Lease | undefined = lease; each; each = origins.get(each)) kept.add(each);
}

/**
 * Releases each page that nothing kept by the time `next` returns. So an operator that does not handle leases need not release pages, and
 * cannot keep them by mistake; what it queues is no longer bounded by the window.
 */
export function handOver<T>(): MonoTypeOperatorFunction<Page<T>> {
  return (pages$) =>
    new Observable((subscriber) =>
      pages$.subscribe({
        next: (page) => {
          const { lease } = page;
          kept.delete(lease);
          subscriber.next(page);
          if (!kept.has(lease)) lease.release();
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      }),
    );
}
