import type { OperatorFunction } from 'rxjs';
import type { Row } from '../collections/index.js';
import { rowsIn, Table, type Content } from '../columnar/index.js';

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
  /** Where there is a table, they are made of it when they are first asked for. */
  readonly rows: readonly T[];
  /** The same rows as columns, for steps and sinks that work on these. */
  readonly table?: Table | undefined;
  readonly lease: Lease;
}

/** One step of a chain: pages in, pages out, one for one, in order and with their leases. */
export type Step<In = Row, Out = Row> = OperatorFunction<Page<In>, Page<Out>>;

/** A page of rows, or of a table whose rows are of that type. */
export function pageOf<T>(number: number, content: Content<T>, lease: Lease): Page<T> {
  if (!(content instanceof Table)) return { number, rows: content, lease };
  return {
    number,
    get rows() {
      return rowsIn<T>(content);
    },
    table: content,
    lease,
  };
}

/** The same page with other rows. */
export function withRows<T>(page: Page<unknown>, rows: Content<T>): Page<T> {
  return pageOf(page.number, rows, page.lease);
}

/** What a page holds, as columns if it has them. */
export function contentOf<T>(page: Page<T>): Content<T> {
  return page.table ?? page.rows;
}
