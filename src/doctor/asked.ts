import type { Collection, Served } from '../collections/index.js';
import { headersOf, queryOf, type Credentials, type Target } from '../http/index.js';
import { isSequential, listQuery, positionAt, type Position } from '../source/index.js';

/** One request. */
export interface Asked {
  readonly collection: Collection;
  /** Which of the paths of the collection. Default: the first. */
  readonly path?: string | undefined;
  readonly page?: number;
  readonly limit?: number;
  /** Where a list without page numbers goes on. Default: where it begins. */
  readonly position?: Position;
  /** Identifier of a single record; evidence shows `{id}`. */
  readonly id?: string;
  /** Default: those of the requester. */
  readonly auth?: Credentials;
}

/** The list that is asked for, below the base URL. */
export function pathOf({ collection, path = collection.paths[0] }: Asked): string {
  return path.startsWith('/') ? path : `/api/${path}`;
}

/** What is sent, without credentials. */
export function targetOf(asked: Asked): Pick<Target, 'path' | 'query' | 'parameters'> {
  const { id, position } = asked;
  if (position) return position;
  return { path: `${pathOf(asked)}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`, query: parametersOf(asked) };
}

/** Where a page of a list is whose pages have no numbers. */
export function positionOf({ position, ...asked }: Asked, served: Served): Position {
  return position ?? positionAt(served, pathOf(asked), asked.limit ?? 1);
}

/** The address of a request as it may be seen: without credentials, identifiers, and what an answer named as the next page. */
export function urlOf(asked: Asked, auth: Credentials, baseUrl: string): string {
  const { id, position } = asked;
  const masked = Object.keys(queryOf(auth)).map((name) => `${name}=***`);
  const query = [new URLSearchParams(parametersOf(asked)).toString(), ...(position === undefined ? [] : ['{next}']), ...masked].filter(
    (part) => part !== '',
  );
  return `${baseUrl.replace(/\/+$/, '')}${pathOf(asked)}${id === undefined ? '' : '/{id}'}${query.length === 0 ? '' : `?${query.join('&')}`}`;
}

/** A request as it may be seen. */
export function shownAs(asked: Asked, auth: Credentials, baseUrl: string): string {
  const headers = Object.keys(headersOf(auth)).map((name) => `, ${name}: ***`);
  return `GET ${urlOf(asked, auth, baseUrl)}${headers.join('')}`;
}

/** Those of the first page, where pages have no numbers. */
function parametersOf({ collection, page, limit, id }: Asked): Readonly<Record<string, string>> {
  const { served } = collection;
  if (served && id === undefined) {
    if (!isSequential(served)) return listQuery(collection, { page, limit: limit ?? 1 }, 1);
    return Object.fromEntries(positionAt(served, '', limit ?? 1).parameters);
  }
  return { ...(page === undefined ? {} : { page: String(page) }), ...(limit === undefined ? {} : { limit: String(limit) }) };
}
