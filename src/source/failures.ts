import { of, throwError, type Observable } from 'rxjs';
import { RecordBatch } from '../vector/index.js';
import { SourceError } from '../core/index.js';

/** A failure to answer, as opposed to one that has been recognised, and to refused credentials. */
export function isPlainFailure(error: unknown): boolean {
  return isViolation(error) || (error instanceof SourceError && error.code === 'E_SOURCE_UNAVAILABLE');
}

/** A request that the service does not take. */
export function isRefused(error: unknown): boolean {
  return error instanceof SourceError && error.code === 'E_SOURCE_REFUSED';
}

/** For `catchError`: nothing, where the service does not take a request. */
export function unlessRefused(error: unknown): Observable<undefined> {
  return isRefused(error) ? of(undefined) : throwError(() => error);
}

/** An answer that has no rows for this request, and would have none the next time. */
export function isViolation(error: unknown): boolean {
  return error instanceof SourceError && (error.code === 'E_SOURCE_REFUSED' || error.code === 'E_SOURCE_ANSWER');
}

/** For `catchError`: whatever failure a page has that is not there, it has no row. */
export function noRows(error: unknown): Observable<{ readonly batch: RecordBatch }> {
  return isPlainFailure(error) ? of({ batch: RecordBatch.empty }) : throwError(() => error);
}
