import type { Collection } from '../../collections/index.js';
import type { RequestDescription, Target } from '../../http/index.js';

/** What is asked of a collection. */
export interface Asked {
  readonly collection: Collection;
  /** Below the base URL, of the collection. */
  readonly path: string;
  /** Identifier of a record. It is sent, but no message and no event shows it. */
  readonly id?: string;
  /** Number of the page, by which messages and events call it. */
  readonly page?: number | undefined;
  readonly query?: Readonly<Record<string, string>>;
  /** What a list that has no page numbers asks for instead of `query`. No message and no event shows it. */
  readonly parameters?: readonly [name: string, value: string][];
  readonly purpose?: 'page' | 'probe' | undefined;
}

/** @param baseUrl Without user info and query. */
export function targetOf(baseUrl: string, asked: Asked): Target {
  const { path, id, page, query = {}, parameters, purpose } = asked;
  const label = `${shown(baseUrl, asked)}${page === undefined ? '' : ` page ${page}`}`;
  return { path: id === undefined ? path : `${path}/${encodeURIComponent(id)}`, query, parameters, purpose, label };
}

/** What events say of it. */
export function factsOf(baseUrl: string, asked: Asked): RequestDescription {
  const { collection, id, page, query = {}, purpose = 'page' } = asked;
  const search = new URLSearchParams(query).toString();
  return {
    url: `${shown(baseUrl, asked)}${search === '' ? '' : `?${search}`}`,
    collection: collection.name,
    page,
    purpose: id === undefined ? purpose : 'find',
  };
}

function shown(baseUrl: string, { path, id }: Asked): string {
  return `${baseUrl.replace(/\/+$/, '')}${path}${id === undefined ? '' : '/{id}'}`;
}
