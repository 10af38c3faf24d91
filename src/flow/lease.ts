import { LeadstreamError } from '../core/index.js';
import { Observable, type MonoTypeOperatorFunction } from 'rxjs';
import { handling, withLease, type Lease, type Page } from './page.js';
import { failWhenDry } from './stalled.js';

const origin = Symbol('origin');

/** A lease that may wrap another one. Weak maps of all leases would cost more than the leases. */
type TrackedLease = Lease & { readonly [origin]?: Lease };

/** The leases of pages that are being handed over, and that nothing kept so far. */
const handed = new Set<Lease>();

/** Keeps a page beyond the call that delivered it, within which this must be called; the caller must then release it. */
export function keep({ lease }: Page<unknown>): void {
  if (handed.size > 0) for (let each: TrackedLease | undefined = lease; each; each = each[origin]) handed.delete(each);
}

/** Releases each page that nothing kept when `next` returns, for operators without leases, whose queues are not bounded. */
export function handOver<T>(): MonoTypeOperatorFunction<Page<T>> {
  return handling((page, subscriber) => {
    const { lease } = page;
    handed.add(lease);
    subscriber.next(page);
    if (handed.delete(lease)) lease.release();
  });
}

/** Counts the outstanding pages, and reports when all are released. */
export class Drain {
  out = 0;
  readonly #waiting: (() => void)[] = [];

  track<T>(page: Page<T>): Page<T> {
    let held = true;
    const release = () => {
      if (!held) return;
      held = false;
      page.lease.release();
      this.out -= 1;
      if (this.out === 0) for (const done of this.#waiting.splice(0)) done();
    };
    const lease: TrackedLease = { release, [origin]: page.lease };
    this.out += 1;
    return withLease(page, lease);
  }

  whenEmpty(done: () => void): void {
    if (this.out === 0) done();
    else this.#waiting.push(done);
  }

  empty(): Promise<void> {
    return new Promise((done) => this.whenEmpty(done));
  }
}

/**
 * Passes an error on only after every page emitted before was released, or can no longer be. In RxJS, errors overtake data: when one
 * arrives, a queueing operator downstream drops its buffered pages and abandons the current write. Completion does not overtake. Fails a
 * stream with `E_RUN_STALLED` when nothing can release its pages any more, but never because a consumer takes long.
 * @param what What the pages are of, for the message.
 */
export function untilReleased<T>(what: string): MonoTypeOperatorFunction<Page<T>> {
  return (pages$) =>
    new Observable((subscriber) => {
      const drain = new Drain();
      failWhenDry(subscriber, 'stalls', () => {
        if (drain.out === 0) return undefined;
        const pages = drain.out === 1 ? '1 page waits' : `${drain.out} pages wait`;
        const message = `${what}: ${pages} for page.lease.release(), and nothing is left to call it; release each page, or read the rows of fromPages(…)`;
        return new LeadstreamError('E_RUN_STALLED', message);
      });
      subscriber.add(
        pages$.subscribe({
          next: (page) => subscriber.next(drain.track(page)),
          error: (error: unknown) => {
            drain.whenEmpty(() => subscriber.error(error));
            failWhenDry(subscriber, 'failures', () => (drain.out > 0 ? error : undefined));
          },
          complete: () => subscriber.complete(),
        }),
      );
    });
}
