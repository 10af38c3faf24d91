import { map, type OperatorFunction } from 'rxjs';
import { handling, rowsOf, type Page, type Step } from './page.js';
import { madeRows, ofEachRow, refusedPromise, type MadeOptions } from './row-function.js';
import { withNode } from './chain.js';

/**
 * Applies a function to every row, its only argument. Rows of leadstream are frozen: return a new one, like `{ ...row, … }`. Without
 * `columns`, a later change to a returned row reaches consumers that have not read it yet.
 *
 * @param options The columns of the new rows, for `writeTo` and the steps after it.
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for invalid columns. `E_STEP_FUNCTION`, by the stream, if the function throws (the
 * `cause` is what it threw), returns a promise, or returns a row that differs from the columns.
 *
 * @example
 * service.leads.pipe(mapRows(({ lead_id, zipcode }) => ({ id: lead_id, prefix: zipcode?.slice(0, 3) ?? null })));
 * // { lead_id: '7', zipcode: '10001', … }  ->  { id: '7', prefix: '100' }
 * const ages = service.users.pipe(mapRows(({ uid }) => ({ uid, length: uid?.length }), { columns: { uid: 'text', length: 'decimal' } }));
 * await writeTo(ages, csv({ path: 'lengths.csv' })); // without columns it asks for them
 */
export function mapRows<T, U>(project: (row: T) => U, options: MadeOptions<NoInfer<U>> = {}): Step<T, U> {
  const { node, begin } = madeRows<U>('mapRows', options);
  const mapping: Step<T, U> = map((page) => {
    const made = begin();
    ofEachRow(page, { at: 'mapRows', of: project, refused: (row) => refusedPromise(row) ?? made.take(row) });
    return made.done(page);
  });
  return withNode(mapping, node);
}

/** Emits rows one by one, and releases a page after its last: the window does not bound work that a subscriber starts without waiting. */
export function rows<T>(): OperatorFunction<Page<T>, T> {
  return handling((page, subscriber) => {
    for (const row of rowsOf(page)) {
      if (subscriber.closed) return;
      subscriber.next(row);
    }
    page.lease.release();
  });
}
