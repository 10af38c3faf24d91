import { defer, EmptyError, isObservable, map, type Observable, SequenceError, catchError, single, throwError } from 'rxjs';
import { StepError } from '../core/index.js';
import { given } from '../options/index.js';
import { refuseEndless } from './stalled.js';

/** The function that `pagedSource` reads a page with. */
type Fetch<T> = (page: number) => Observable<readonly T[]>;

/**
 * Wraps a fetch function to check its result: anything but a list of rows could pass for an empty page, and so for the end of the list.
 *
 * @throws {StepError} `E_STEP_FUNCTION`, by the observable, if the function does not return an observable of one list.
 * @throws {LeadstreamError} `E_RUN_STALLED`, by the observable, if it can never end.
 */
export function fetchedRows<T>(fetch: Fetch<T>): Fetch<T> {
  return (page) =>
    defer(() => {
      const answer$: unknown = fetch(page);
      if (!isObservable(answer$)) throw wrong(given(answer$), page);
      return answer$.pipe(
        refuseEndless(() => `pagedSource: the observable of page ${page} never ends`, 'calls'),
        single(),
        catchError((error: unknown) => throwError(() => miscounted(error, page))),
        map((rows) => listIn<T>(rows, page)),
      );
    });
}

function listIn<T>(rows: unknown, page: number): readonly T[] {
  if (Array.isArray(rows)) return rows as readonly T[];
  throw wrong(`an observable of ${given(rows)}`, page);
}

function miscounted(error: unknown, page: number): unknown {
  if (error instanceof EmptyError) return wrong('an observable without a value', page);
  return error instanceof SequenceError ? wrong('an observable of several values', page) : error;
}

function wrong(what: string, page: number): StepError {
  const remedy = 'it must return an observable of one value, the list of its rows, like defer(() => fetchOrders(page))';
  return new StepError('E_STEP_FUNCTION', `pagedSource: the function returned ${what} for page ${page}; ${remedy}`);
}
