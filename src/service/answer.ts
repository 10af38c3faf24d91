import type { ServerResponse } from 'node:http';
import type { CollectionName } from '../collections/index.js';

/** The rows of one collection in a fixed order, each as the JSON text of one object: none needs to be parsed or built as an object on its way out. */
export interface ServedTable {
  /** Number of rows. */
  readonly count: number;
  /** The row at a 0-based position below `count`. */
  row(index: number): string;
  /** Positions, in ascending order, of the rows with this identifier; empty when nothing matches. */
  find(id: string): readonly number[];
}

/** What the service serves: a table for every collection, by name, and for those that a user declared. */
export type DataSource = { readonly [N in CollectionName]: ServedTable } & Readonly<Record<string, ServedTable>>;

/** What a request for a collection asks for. It contains no credential. */
export interface RequestFacts {
  readonly collection: string;
  /** The path that was requested, for example `/api/areacode/212`. */
  readonly path: string;
  /** Identifier at the end of the path; `null` for the list. */
  readonly id: string | null;
  /** As requested, by default the first page; `NaN` when it is not a whole number. */
  readonly page: number;
  /** As requested, before the cap; 30 by default, `NaN` when it is not a whole number. */
  readonly limit: number;
  /** `probe` when the header `x-leadstream-purpose` says so: a second read for checking, not for rows. */
  readonly purpose: 'page' | 'probe';
  /** The parameters of the request, without credentials. */
  readonly query: Readonly<Record<string, string>>;
  /** Number of the request in order of arrival, from 1, over all collections. */
  readonly sequence: number;
}

/** JSON texts of rows that are sent as a list with status 200. Iterate over them only once: they are computed on the way. */
export interface RowsAnswer {
  readonly kind: 'rows';
  readonly rows: Iterable<string>;
  /** Names of the objects around the list, outermost first. Default: none. */
  readonly within?: readonly string[];
}

/** An answer that is sent as it is. */
export interface RawAnswer {
  readonly kind: 'raw';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** An answer that writes to the connection itself, for anything that HTTP cannot express properly. */
export interface WireAnswer {
  readonly kind: 'wire';
  /** For `onRequest`; 0 when no status is sent. */
  readonly status: number;
  readonly send: (response: ServerResponse) => void;
}

/** The answer to a request. */
export type Answer = RowsAnswer | RawAnswer | WireAnswer;

/** Computes the answer to a request. */
export type Answerer = (facts: RequestFacts) => Answer | Promise<Answer>;

/**
 * Takes a request before it is answered, and may change it or its answer, wait, or answer by itself. Faults are responders.
 *
 * @example
 * const ignoresPage: Responder = (facts, next) => next({ ...facts, page: 1 });
 */
export type Responder = (facts: RequestFacts, next: Answerer) => Answer | Promise<Answer>;

/** The headers of a JSON text. */
export const json = { 'content-type': 'application/json' } as const;

/** Returns a refusal with the JSON body `{"error":"…"}`. */
export function failure(status: number, error: string, headers: Readonly<Record<string, string>> = {}): RawAnswer {
  return { kind: 'raw', status, headers: { ...json, ...headers }, body: JSON.stringify({ error }) };
}

/** Returns the body of an answer with rows. */
export function bodyOf({ rows, within = [] }: RowsAnswer): Buffer {
  const list = `[${[...rows].join(',')}]`;
  return Buffer.from(within.reduceRight((inner, name) => `{${JSON.stringify(name)}:${inner}}`, list));
}
