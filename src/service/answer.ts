import type { ServerResponse } from 'node:http';
import type { CollectionName } from '../collections/index.js';
import type { ServedTable } from './source.js';

/** What an authorised request asks for. It carries no credential. */
export interface RequestFacts {
  readonly collection: CollectionName;
  /** Segment of the path that named the collection, for example `areacode`. */
  readonly path: string;
  /** Identifier at the end of the path; `null` for the list. */
  readonly id: string | null;
  /** As asked, by default the first page; `NaN` when it is no whole number. */
  readonly page: number;
  /** As asked, before the cap, 30 by default; `NaN` when it is no whole number. */
  readonly limit: number;
  /** `probe` when the header `x-leadstream-purpose` says so: a re-read for checking, not for rows. */
  readonly purpose: 'page' | 'probe';
  /** Number of the request, from 1 on in order of arrival, over all collections. */
  readonly sequence: number;
}

/** JSON texts of rows that become an array, status 200. To be taken once: they are computed on the way. */
export interface RowsAnswer {
  readonly kind: 'rows';
  readonly rows: Iterable<string>;
  /** The fault that had a hand in it, for the request log. */
  readonly fault?: string | undefined;
}

/** An answer that is sent as it stands. A stream that errors cuts the connection. */
export interface RawAnswer {
  readonly kind: 'raw';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream;
  readonly fault?: string | undefined;
}

/** An answer that writes to the connection itself: whatever HTTP cannot say properly. */
export interface WireAnswer {
  readonly kind: 'wire';
  /** For the request log; 0 when no status is sent. */
  readonly status: number;
  readonly send: (outgoing: ServerResponse) => void;
  readonly fault?: string | undefined;
}

export type Answer = RowsAnswer | RawAnswer | WireAnswer;

/** Computes the answer to a request. */
export type Answerer = (facts: RequestFacts) => Answer | Promise<Answer>;

/**
 * Stands between a request and its answer and may change either, wait, or answer by itself. Quirks and faults are made
 * of these.
 *
 * @example
 * const ignoresPage: Responder = (facts, next) => next({ ...facts, page: 1 });
 */
export type Responder = (facts: RequestFacts, next: Answerer) => Answer | Promise<Answer>;

/** The table that a request sees. It stays as it is while the request is answered. */
export type View = (facts: RequestFacts) => ServedTable;

/** Puts responders around an answerer; the first one sees the request first and the answer last. */
export function respondThrough(responders: readonly Responder[], answerer: Answerer): Answerer {
  return responders.reduceRight<Answerer>((next, responder) => (facts) => responder(facts, next), answerer);
}

/** A refusal with the JSON body `{"error":"…"}`. */
export function failure(status: number, error: string, headers: Readonly<Record<string, string>> = {}): RawAnswer {
  return { ...json(JSON.stringify({ error }), status), headers: { 'content-type': 'application/json', ...headers } };
}

/** A JSON text as the whole answer, status 200 by default. */
export function json(body: string | Uint8Array<ArrayBuffer>, status = 200): RawAnswer {
  return { kind: 'raw', status, headers: { 'content-type': 'application/json' }, body };
}
