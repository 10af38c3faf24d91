import { collections, type CollectionName } from '../collections/index.js';
import { rowsOf, type DataSource } from './source.js';

/** Rows per page when the request names no `limit`. */
export const defaultLimit = 30;
/** The most rows that a page holds; a larger `limit` counts as this one. */
export const maxLimit = 500;

/** What an authorised request asks for. It carries no credential. */
export interface RequestFacts {
  readonly collection: CollectionName;
  /** Identifier at the end of the path; `null` for the list. */
  readonly id: string | null;
  /** As asked, 1-based, 1 by default; `NaN` when it is no whole number. */
  readonly page: number;
  /** As asked, before the cap, 30 by default; `NaN` when it is no whole number. */
  readonly limit: number;
}

/** JSON texts of rows that become an array, status 200. To be taken once: they are computed on the way. */
export interface RowsAnswer {
  readonly kind: 'rows';
  readonly rows: Iterable<string>;
}

/** An answer that is sent as it stands. A stream that errors cuts the connection. */
export interface RawAnswer {
  readonly kind: 'raw';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream;
}

export type Answer = RowsAnswer | RawAnswer;

/** Computes the answer to a request. */
export type Answerer = (facts: RequestFacts) => Answer | Promise<Answer>;

/**
 * The place for quirks and faults: stands between a request and its answer and may change either, wait, or answer by
 * itself.
 *
 * @example
 * const ignoresPage: Responder = (facts, next) => next({ ...facts, page: 1 });
 */
export type Responder = (facts: RequestFacts, next: Answerer) => Answer | Promise<Answer>;

/** Puts responders around an answerer; the first one sees the request first and the answer last. */
export function respondThrough(responders: readonly Responder[], answerer: Answerer): Answerer {
  return responders.reduceRight<Answerer>((next, responder) => (facts) => responder(facts, next), answerer);
}

/** The honest answer: the page, the whole list of a collection without paging, or the rows of an identifier. */
export function answerFrom(source: DataSource): Answerer {
  return ({ collection, id, page, limit }) => {
    const table = source[collection];
    if (id !== null) return { kind: 'rows', rows: table.find(id).map((index) => table.row(index)) };
    if (!collections[collection].paged) return { kind: 'rows', rows: rowsOf(table, 0, table.count) };
    if (!(page >= 1)) return failure(400, 'page must be a whole number from 1 on');
    if (!(limit >= 1)) return failure(400, 'limit must be a whole number from 1 on');
    const size = Math.min(limit, maxLimit);
    return { kind: 'rows', rows: rowsOf(table, (page - 1) * size, size) };
  };
}

/** A refusal with the JSON body `{"error":"…"}`. */
export function failure(status: number, error: string, headers: Readonly<Record<string, string>> = {}): RawAnswer {
  return { kind: 'raw', status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify({ error }) };
}
