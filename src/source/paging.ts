import type { Observable } from 'rxjs';
import type { Collection } from '../collections/index.js';
import type { CollectionReader } from './fetch/reader.js';
import { listQuery } from './fetch/list-query.js';
import type { ListAnswer } from './fetch/listing.js';
import { isSequential, positionAt } from './fetch/position.js';
import { GateError, type Warning } from '../core/index.js';
import type { Events } from '../events/index.js';
import { defaults } from '../options/index.js';

/** What the reading of a list depends on. */
export interface PagingOptions {
  /** Number of the first page. Default 1, and then it is checked that there is no page before it. */
  readonly firstPage?: number | undefined;
  /** Most pages that a list may have; one more is a failure. Default: no limit. */
  readonly maxPages?: number | undefined;
  /** Whether what would be a warning is a failure. Default false. */
  readonly strict?: boolean | undefined;
  /** Where warnings are told, and what is read. Default: nowhere. */
  readonly events?: Events | undefined;
}

/** The number that a collection declares for its first page, or else that of the service. Offsets are numbered from 1. */
export function firstPageOf({ served }: Collection, { firstPage }: Pick<PagingOptions, 'firstPage'>): number | undefined {
  if (!served) return firstPage;
  return served.paging.scheme === 'page' ? (served.paging.first ?? firstPage) : 1;
}

/** The parameters of the request that a list begins with, without credentials. */
export function firstQuery(
  collection: Collection,
  {
    limit = defaults.limit,
    firstPage = defaults.firstPage,
  }: { readonly limit?: number | undefined; readonly firstPage?: number | undefined },
): URLSearchParams {
  const { paged, served } = collection;
  if (isSequential(served)) return new URLSearchParams(positionAt(served, '', limit).parameters);
  const page = paged ? firstPageOf(collection, { firstPage }) : undefined;
  return new URLSearchParams(listQuery(collection, { page, limit }, limit));
}

/** Reads the pages of one list. */
export type ListReader = Pick<CollectionReader<unknown>, 'collection' | 'limit' | 'request' | 'recount'>;

/** How a service pages one of its lists, as far as its first pages tell. */
export interface PagedList {
  readonly paged: boolean;
  readonly firstPage: number;
  /** Rows per page that the service really gives. */
  readonly limit: number;
  /**
   * One page. A page that repeats the one before it, as some services do past the end, counts as empty.
   *
   * @param fresh Whether an answer that was kept will not do. Default false.
   */
  page(number: number, fresh?: boolean): Observable<ListAnswer>;
  /** A page as it is by now, also if it has spooled, and without a look at the page before it. */
  again(number: number): Observable<ListAnswer>;
  /** A page as it is by now, to compare it with; it is not spooled. */
  probe(number: number): Observable<ListAnswer>;
  /** A page of another size, as it is by now. */
  sized(number: number, limit: number): Observable<ListAnswer>;
  /** The row at a position, counted from 0: a page of one row. A service that does not honour the limit gives more. */
  row(position: number): Observable<ListAnswer>;
  /** The first page that repeated the one before it, as far as pages were read. */
  readonly repeated: number | undefined;
}

/** @throws {GateError} `E_GATE_STRICT` under `strict`. */
export function warn({ strict = false, events }: PagingOptions, warning: Warning): void {
  if (strict) throw new GateError('E_GATE_STRICT', `${warning.code}: ${warning.message}`);
  events?.warn(warning);
}
