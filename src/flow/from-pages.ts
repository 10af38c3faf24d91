import { defer, isObservable, tap, type Observable } from 'rxjs';
import { type Column, StepError } from '../core/index.js';
import { checkGiven, given, object } from '../options/index.js';
import { givenColumns } from './given-columns.js';
import type { Page } from './page.js';
import type { OpenedSource, ReadFor } from './row-source.js';
import { RowStream } from './row-stream.js';
import { checkPage } from './step-chain.js';

const taken = object({ columns: givenColumns });

/**
 * Makes a row stream of pages that something else gives, as of `pagedSource`.
 *
 * @param columns What the rows have. Default: nobody knows, and `writeTo` wants to be told.
 * @throws {StepError} `E_STEP_CONFIG` for what is no observable, and for columns that are none.
 *
 * @example
 * for await (const order of fromPages(pagedSource(fetchOrders))) console.log(order.no);
 */
export function fromPages<T>(pages$: Observable<Page<T>>, columns?: readonly Column[]): RowStream<T> {
  if (!isObservable(pages$)) throw new StepError('E_STEP_CONFIG', `fromPages: must be given an observable of pages, not ${given(pages$)}`);
  checkGiven('fromPages', taken, { columns });
  const open = (): OpenedSource => ({
    // Of what type the rows are, the stream says again.
    pages$: (pages$ as Observable<unknown> as Observable<Page>).pipe(tap(checkPage('fromPages: the observable'))),
    undeclared: () => [],
    consistency: undefined,
  });
  return new RowStream<T>({ columns, withheld: [], key: [], open });
}

/** Rows for a step that takes a side: a stream of rows, or an observable of pages. */
export type Side<T> = RowStream<T> | Observable<Page<T>>;

/** The pages of a side, read for what its rows are wanted for. */
export function pagesOf<T>(side: Side<T>, wanted: ReadFor): Observable<Page<T>> {
  if (side instanceof RowStream) return defer(() => RowStream.opened(side, wanted).pages$);
  // Of what type the rows are, the stream says again.
  const pages$ = (side as Observable<unknown> as Observable<Page>).pipe(tap(checkPage('the other side: the observable')));
  return pages$ as Observable<unknown> as Observable<Page<T>>;
}
