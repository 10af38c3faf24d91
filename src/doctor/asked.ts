import type { Collection, Served } from '../collections/index.js';
import { headersOf, queryOf, type Credentials, type Target } from '../http/index.js';
import { isSequential, listQuery, positionAt, type Position } from '../source/index.js';

/** One request. */
export interface Asked {
  readonly collection: Collection;
  /** One of the collection's paths. Default: the first. */
  readonly path?: string | undefined;
  readonly page?: number;
  readonly limit?: number;
  /** Position in a list without page numbers. Default: the start. */
  readonly position?: Position;
  /** Identifier of a single record; shown as `{id}` in evidence. */
  readonly id?: string;
  /** Default: those of the requester. */
  readonly auth?: Credentials;
}

/** Returns the path of the requested list, relative to the base URL. */
export function pathOf({ collection, path = collection.paths[0] }: Asked): string {
  return path.startsWith('/') ? path : `/api/${path}`;
}

/** Returns what is sent, without credentials. */
export function targetOf(asked: Asked): Pick<Target, 'path' | 'query' | 'parameters'> {
  const { id, position } = asked;
  if (position) return position;
  return { path: `${pathOf(asked)}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`, query: parametersOf(asked) };
}

/** Returns the position of a page in a list without page numbers. */
export function positionOf({ position, ...asked }: Asked, served: Served): Position {
  return position ?? positionAt(served, pathOf(asked), asked.limit ?? 1);
}

/** Returns the URL of a request for display: without credentials, identifiers, and what an answer named as the next page. */
export function urlOf(asked: Asked, auth: Credentials, baseUrl: string): string {
  const { id, position } = asked;
  const masked = Object.keys(queryOf(auth)).map((name) => `${name}=***`);
  const query = [new URLSearchParams(parametersOf(asked)).toString(), ...(position === undefined ? [] : ['{next}']), ...masked].filter(
    (part) => part !== '',
  );
  return `${baseUrl.replace(/\/+$/, '')}${pathOf(asked)}${id === undefined ? '' : '/{id}'}${query.length === 0 ? '' : `?${query.join('&')}`}`;
}

/** Returns a request for display. */
export function shownAs(asked: Asked, auth: Credentials, baseUrl: string): string {
  const headers = Object.keys(headersOf(auth)).map((name) => `, ${name}: ***`);
  return `GET ${urlOf(asked, auth, baseUrl)}${headers.join('')}`;
}

/** Returns the query parameters; those of the first page if pages have no numbers. */
function parametersOf({ collection, page, limit, id }: Asked): Readonly<Record<string, string>> {
  const { served } = collection;
  if (served && id === undefined) {
    if (!isSequential(served)) return listQuery(collection, { page, limit: limit ?? 1 }, 1);
    return Object.fromEntries(positionAt(served, '', limit ?? 1).parameters);
  }
  return { ...(page === undefined ? {} : { page: String(page) }), ...(limit === undefined ? {} : { limit: String(limit) }) };
}
