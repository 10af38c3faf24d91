import type { OperatorFunction } from 'rxjs';
import type { Row } from '../collections/index.js';

/**
 * The right of a page to be in memory. A source hands out at most `window` of them; whoever takes a page to its
 * end releases it, once its rows are stored or handed to a bounded buffer. Releasing twice does nothing.
 */
export interface Lease {
  release(): void;
}

/** The unit that travels through a chain: some rows of one page of the service, in order. `number` is 1-based. */
export interface Page<T = Row> {
  readonly number: number;
  readonly rows: readonly T[];
  readonly lease: Lease;
}

/** One step of a chain: pages in, pages out, one for one, in order and with their leases. */
export type Step<In = Row, Out = Row> = OperatorFunction<Page<In>, Page<Out>>;

/** The same page with other rows. */
export function withRows<T>(page: Page<unknown>, rows: readonly T[]): Page<T> {
  return { number: page.number, rows, lease: page.lease };
}
