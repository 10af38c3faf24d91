import type { ServerResponse } from 'node:http';
import type { CollectionName } from '../collections/index.js';
import type { ServedTable } from './source.js';

/** What an authorised request asks for. It contains no credential. */
export interface RequestFacts {
  readonly collection: CollectionName;
  /** Segment of the path that named the collection, for example `areacode`. */
  readonly path: string;
  /** Identifier at the end of the path; `null` for the list. */
  readonly id: string | null;
  /** As requested, by default the first page; `NaN` when it is not a whole number. */
  readonly page: number;
  /** As requested, before the cap; 30 by default, `NaN` when it is not a whole number. */
  readonly limit: number;
  /** `probe` when the header `x-leadstream-purpose` says so: a second read for checking, not for rows. */
  readonly purpose: 'page' | 'probe';
  /** Number of the request in order of arrival, from 1, over all collections. */
  readonly sequence: number;
}

/** JSON texts of rows that are sent as an array with status 200. Iterate over them only once: they are computed on the way. */
export interface RowsAnswer {
  readonly kind: 'rows';
  readonly rows: Iterable<string>;
  /** The fault that affected it, for the request log. */
  readonly fault?: string | undefined;
}

/** An answer that is sent as it is. A stream that fails cuts the connection. */
export interface RawAnswer {
  readonly kind: 'raw';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream;
  readonly fault?: string | undefined;
}

/** An answer that writes to the connection itself, for anything that HTTP cannot express properly. */
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
 * Takes a request before it is answered, and may change it or its answer, wait, or answer by itself. Quirks and faults are responders.
 *
 * @example
 * const ignoresPage: Responder = (facts, next) => next({ ...facts, page: 1 });
 */
export type Responder = (facts: RequestFacts, next: Answerer) => Answer | Promise<Answer>;

/** Returns the table that a request sees. It does not change while the request is answered. */
export type View = (facts: RequestFacts) => ServedTable;

/** Wraps an answerer in responders. The first one sees the request first and the answer last. */
export function respondThrough(responders: readonly Responder[], answerer: Answerer): Answerer {
  return responders.reduceRight<Answerer>((next, responder) => (facts) => responder(facts, next), answerer);
}

/** Returns a refusal with the JSON body `{"error":"…"}`. */
export function failure(status: number, error: string, headers: Readonly<Record<string, string>> = {}): RawAnswer {
  return { ...json(JSON.stringify({ error }), status), headers: { 'content-type': 'application/json', ...headers } };
}

/** Returns a JSON text as the whole answer, with status 200 by default. */
export function json(body: string | Uint8Array<ArrayBuffer>, status = 200): RawAnswer {
  return { kind: 'raw', status, headers: { 'content-type': 'application/json' }, body };
}
