import { type Observable, of, throwError } from 'rxjs';
import type { Collection } from '../collections/index.js';
import type { CollectionReader } from './fetch/reader.js';
import { listQuery, isSequential, positionAt } from './fetch/request.js';
import { amountOf, GateError, type Warning, SourceError } from '../core/index.js';
import type { Events } from '../events/index.js';
import { defaults } from '../options/index.js';
import { RecordBatch } from '../vector/index.js';

/** A part of a list, in positions of rows from 0. */
export interface ListRange {
  /** Position of its first row, where a page begins. */
  readonly from: number;
  /** Position after its last row. Default: it reaches the end of the list. */
  readonly to?: number | undefined;
  /** Whether a range that ends is checked for rows that moved while it was read. Default false. */
  readonly checked?: boolean;
}

export interface PagingOptions {
  /** Number of the first page. Default 1, and then it is checked that no page precedes it. */
  readonly firstPage?: number | undefined;
  /** Maximum number of pages of a list; one more is a failure. Default: no limit. */
  readonly maxPages?: number | undefined;
  /** The part of a list with page numbers that is read. Default: all of it. */
  readonly range?: ListRange | undefined;
  /** Whether warnings are failures. Default false. */
  readonly strict?: boolean | undefined;
  /** Publishes warnings and the progress of the read. Default: nowhere. */
  readonly events?: Events | undefined;
}

/** Returns a collection's declared number of the first page, or the service's. Offsets are numbered from 1. */
export function firstPageOf({ served }: Collection, { firstPage }: Pick<PagingOptions, 'firstPage'>): number | undefined {
  if (!served) return firstPage;
  return served.paging.scheme === 'page' ? (served.paging.first ?? firstPage) : 1;
}

export function firstQuery(collection: Collection, options: PagingOptions & { readonly limit?: number | undefined }): URLSearchParams {
  const { limit = defaults.limit, firstPage = defaults.firstPage } = options;
  const { paged, served } = collection;
  if (isSequential(served)) return new URLSearchParams(positionAt(served, '', limit).query);
  const page = paged ? firstPageOf(collection, { firstPage }) : undefined;
  return new URLSearchParams(listQuery(collection, page, limit, limit));
}

export type ListReader = Pick<CollectionReader<unknown>, 'collection' | 'limit' | 'request' | 'together' | 'findings'>;

/** Warns of a list. @throws {GateError} `E_GATE_STRICT` under `strict`. */
export function warn({ collection }: ListReader, { strict = false, events }: PagingOptions, code: Warning['code'], what: string): void {
  const message = `${collection.name}: ${what}`;
  if (strict) throw new GateError('E_GATE_STRICT', `${code}: ${message}`);
  events?.warn({ code, message });
}

export function refused({ collection }: ListReader, code: SourceError['code'], what: string): SourceError {
  return new SourceError(code, 'permanent', `${collection.name}: ${what}`);
}

/** Describes that a number of pages, up to the one before `number`, had no new rows. */
export function noNewRows(pages: number, number: number): string {
  return `${amountOf(pages, 'page')} up to page ${number - 1} ${pages === 1 ? 'has' : 'have'} no rows with a new key`;
}

/** Returns whether an error is a failure to answer, not a recognised problem or refused credentials. */
export function isPlainFailure(error: unknown): boolean {
  return isViolation(error) || (error instanceof SourceError && error.code === 'E_SOURCE_UNAVAILABLE');
}

/** For `catchError`: emits `undefined` if the service refused the request. */
export function unlessRefused(error: unknown): Observable<undefined> {
  return error instanceof SourceError && error.code === 'E_SOURCE_REFUSED' ? of(undefined) : throwError(() => error);
}

/** Returns whether an answer has no rows for this request, now and next time. */
export function isViolation(error: unknown): boolean {
  return error instanceof SourceError && (error.code === 'E_SOURCE_REFUSED' || error.code === 'E_SOURCE_ANSWER');
}

/** For `catchError`: treats any failure of a missing page as a page without rows. */
export function noRows(error: unknown): Observable<RecordBatch> {
  return isPlainFailure(error) ? of(RecordBatch.empty) : throwError(() => error);
}
