import { Observable, type MonoTypeOperatorFunction } from 'rxjs';
import { withLease, type Lease, type Page } from './page.js';

/** The leases that were put in the place of others. */
const origins = new WeakMap<Lease, Lease>();
const kept = new WeakSet<Lease>();

/** The same page under a lease that does something else when it is released. */
export function withRelease<T>(page: Page<T>, release: () => void): Page<T> {
  const lease = { release };
  origins.set(lease, page.lease);
  return withLease(page, lease);
}

/** Keeps a page beyond the call that handed it over; whoever does releases it. To be called within that call. */
export function keep({ lease }: Page<unknown>): void {
  for (let each: Lease | undefined = lease; each; each = origins.get(each)) kept.add(each);
}

/**
 * Hands pages over to whatever comes next: a page that nobody kept by the time `next` returns is released. So an operator that knows nothing of
 * leases neither has to release pages nor can keep them by mistake; what it puts into a queue is no longer bounded by the window.
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
