import { of, throwError, type Observable } from 'rxjs';
import { RecordBatch } from '../vector/index.js';
import { SourceError } from '../core/index.js';

/** Returns whether an error is a failure to answer, as opposed to a recognised problem and refused credentials. */
export function isPlainFailure(error: unknown): boolean {
  return isViolation(error) || (error instanceof SourceError && error.code === 'E_SOURCE_UNAVAILABLE');
}

/** Returns whether the service refused a request. */
export function isRefused(error: unknown): boolean {
  return error instanceof SourceError && error.code === 'E_SOURCE_REFUSED';
}

/** For `catchError`: emits `undefined` if the service refused the request. */
export function unlessRefused(error: unknown): Observable<undefined> {
  return isRefused(error) ? of(undefined) : throwError(() => error);
}

/** Returns whether an answer has no rows for this request, and would have none the next time. */
export function isViolation(error: unknown): boolean {
  return error instanceof SourceError && (error.code === 'E_SOURCE_REFUSED' || error.code === 'E_SOURCE_ANSWER');
}

/** For `catchError`: treats any failure of a missing page as a page without rows. */
export function noRows(error: unknown): Observable<{ readonly batch: RecordBatch }> {
  return isPlainFailure(error) ? of({ batch: RecordBatch.empty }) : throwError(() => error);
}
