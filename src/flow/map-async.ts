import { Observable, catchError, defer, finalize, map, mergeMap, of, pipe, single, tap, throwError, type ObservableInput } from 'rxjs';
import { LeadstreamError, StepError, whatWasThrown } from '../core/index.js';
import { checkGiven, kindOf, number, object } from '../options/index.js';
import { handOver, keep } from './lease.js';
import { failWhenDry, stalled } from './stalled.js';
import { madeRows, refusedRow, type MadeOptions } from './row-function.js';
import { withNode } from './chain.js';
import { reorder, type Page, type Step } from './page.js';

/** A page, or the failure in its place. */
type Outcome<T> = { readonly page: Page<T> } | { readonly failure: unknown };

const argumentsCheck = object({ concurrency: number({ whole: true, min: 1 }) }, ['concurrency']);

/**
 * Applies an asynchronous function to pages, at most `concurrency` at a time, with results in page order. Pages that wait for their turn
 * hold their leases, so they are bounded by the source's window. Unsubscribing aborts the work in progress. An error waits for the pages
 * before it.
 *
 * @param project Emits the new rows of a page, once; `signal` is aborted on unsubscribe.
 * @param concurrency Pages processed at a time, at least 1.
 * @param options The columns of the new rows, for `writeTo` and the steps after it.
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for invalid arguments. `E_STEP_FUNCTION`, by the stream, if the function fails (the
 * `cause` is what it threw), or emits something other than rows, or rows that differ from the columns.
 * @throws {LeadstreamError} `E_RUN_STALLED`, by the stream, for a page whose rows never arrive.
 *
 * @example
 * const scored = service.leads.pipe(mapAsync((page, signal) => scoresOf(page.rows, signal), 4));
 * for await (const score of scored) console.log(score);
 */
export function mapAsync<T, U>(
  project: (page: Page<T>, signal: AbortSignal) => ObservableInput<readonly U[]>,
  concurrency: number,
  options: MadeOptions<NoInfer<U>> = {},
): Step<T, U> {
  checkGiven('mapAsync', argumentsCheck, { concurrency });
  const { node, begin } = madeRows<U>('mapAsync', options);
  const rowsOf = (page: Page<T>, signal: AbortSignal) =>
    defer(() => project(page, signal)).pipe(
      single(),
      catchError((thrown: unknown) => throwError(() => failed(thrown, page))),
      tap((rows) => checkRows(rows, page)),
      map((rows) => {
        const made = begin();
        for (const [index, row] of rows.entries()) {
          const wrong = made.take(row);
          const place = { who: 'mapAsync', at: 'mapAsync', page: page.number, index, row: undefined };
          if (wrong) throw refusedRow(place, wrong);
        }
        return made.done(page);
      }),
    );
  const mapping: Step<T, U> = pipe(mapPagesAsync(rowsOf, concurrency, 'mapAsync'), handOver());
  return withNode(mapping, node);
}

function failed(thrown: unknown, { number }: Page<unknown>): unknown {
  if (thrown instanceof LeadstreamError) return thrown;
  return new StepError('E_STEP_FUNCTION', `mapAsync: the function failed with ${whatWasThrown(thrown)} on page ${number}`, {
    cause: thrown,
  });
}

function checkRows(rows: unknown, { number }: Page<unknown>): void {
  if (Array.isArray(rows)) return;
  const remedy = 'it must return the rows of the page as a list, in a promise or an observable of one value';
  throw new StepError('E_STEP_FUNCTION', `mapAsync: the function returned ${kindOf(rows)} for page ${number}; ${remedy}`);
}

/** Applies an asynchronous function to whole pages, which the consumer releases. @param project Emits the replacement of a page, once. */
export function mapPagesAsync<T, U>(
  project: (page: Page<T>, signal: AbortSignal) => ObservableInput<Page<U>>,
  concurrency: number,
  at: string,
): Step<T, U> {
  return (pages$) =>
    new Observable((subscriber) => {
      const underWay = new Set<number>();
      /** The first failure. While it waits for pages that never arrive, it says more than their absence. */
      let first: unknown;
      const failed = (failure: unknown): Outcome<U> => {
        first ??= failure;
        return { failure };
      };
      const mapped = (page: Page<T>) =>
        defer(() => {
          underWay.add(page.number);
          const abort = new AbortController();
          return defer(() => project(page, abort.signal)).pipe(tap({ unsubscribe: () => abort.abort() }));
        }).pipe(
          single(),
          map((made): Outcome<U> => ({ page: made })),
          catchError((error: unknown) => of(failed(error))),
          finalize(() => underWay.delete(page.number)),
        );
      const unsettled = () => stalled(`${at}: page ${[...underWay].join(', ')} was passed to a function that never returns its rows`);
      failWhenDry(subscriber, 'calls', () => (underWay.size === 0 ? undefined : (first ?? unsettled())));
      subscriber.add(
        pages$
          .pipe(
            tap<Page<T>>(keep),
            map(mapped),
            catchError((error: unknown) => of(of(failed(error)))),
            mergeMap((outcome$, number) => outcome$.pipe(map((outcome) => ({ number, outcome }))), concurrency),
            reorder(0),
            map(({ outcome }) => {
              if ('page' in outcome) return outcome.page;
              throw outcome.failure;
            }),
          )
          .subscribe(subscriber),
      );
    });
}
