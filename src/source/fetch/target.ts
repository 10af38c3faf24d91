import type { Collection } from '../../collections/index.js';
import type { RequestDescription, Target } from '../../http/index.js';

/** A request to a collection. */
export interface Asked {
  readonly collection: Collection;
  /** Path of the collection, below the base URL. */
  readonly path: string;
  /** Identifier of a record. It is sent, but never shown in messages and events. */
  readonly id?: string;
  /** Number of the page, for messages and events. */
  readonly page?: number | undefined;
  readonly query?: Readonly<Record<string, string>>;
  /** The parameters of a list without page numbers, instead of `query`. Never shown in messages and events. */
  readonly parameters?: readonly [name: string, value: string][];
  readonly purpose?: 'page' | 'probe' | undefined;
}

/** @param baseUrl Without user info and query. */
export function targetOf(baseUrl: string, asked: Asked): Target {
  const { path, id, page, query = {}, parameters, purpose } = asked;
  const label = `${shown(baseUrl, asked)}${page === undefined ? '' : ` page ${page}`}`;
  return { path: id === undefined ? path : `${path}/${encodeURIComponent(id)}`, query, parameters, purpose, label };
}

/** Describes a request for events. */
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
