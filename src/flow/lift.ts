import { Observable, Subject, map, type OperatorFunction } from 'rxjs';
import { withRows, type Page, type Step } from './page.js';

/** Applies a function to every row. */
export function mapRows<T, U>(project: (row: T) => U): Step<T, U> {
  return map((page) => withRows(page, page.rows.map(project)));
}

/** Keeps the rows that satisfy a condition; a page may become empty, but it stays a page. */
export function filterRows<T>(keep: (row: T) => boolean): Step<T, T> {
  return map((page) => withRows(page, page.rows.filter(keep)));
}

/**
 * Lifts a synchronous row operator (`map`, `scan`, `distinct`, or a `pipe` of such) over pages. One subscription spans the
 * whole stream, so an operator with a memory keeps it from page to page. Rows that it emits at the end of the stream go
 * out in one more page, numbered after the last.
 *
 * @example
 * leads$.pipe(liftRows(pipe(filter((lead) => lead.zipcode !== ''), map((lead) => lead.zipcode))));
 */
export function liftRows<T, U>(operator: OperatorFunction<T, U>): Step<T, U> {
  return (pages$) =>
    new Observable((subscriber) => {
      const rows$ = new Subject<T>();
      let out: U[] = [];
      let last = 0;

      function take(): U[] {
        const taken = out;
        out = [];
        return taken;
      }

      subscriber.add(
        rows$.pipe(operator).subscribe({
          next: (row) => out.push(row),
          error: (error: unknown) => subscriber.error(error),
        }),
      );
      subscriber.add(
        pages$.subscribe({
          next: (page: Page<T>) => {
            last = page.number;
            for (const row of page.rows) rows$.next(row);
            subscriber.next(withRows(page, take()));
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => {
            rows$.complete();
            const rest = take();
            if (rest.length > 0) subscriber.next({ number: last + 1, rows: rest, lease: { release: () => {} } });
            subscriber.complete();
          },
        }),
      );
    });
}

/**
 * Emits the rows of every page one by one and releases the page after its last row. A subscriber that returns from `next`
 * is done with the row: what it starts and does not wait for is no longer bounded by the window.
 */
export function rows<T>(): OperatorFunction<Page<T>, T> {
  return (pages$) =>
    new Observable((subscriber) =>
      pages$.subscribe({
        next: (page) => {
          for (const row of page.rows) {
            if (subscriber.closed) return;
            subscriber.next(row);
          }
          page.lease.release();
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      }),
    );
}
