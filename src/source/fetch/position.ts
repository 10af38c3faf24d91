import { isNumbered, type Served } from '../../collections/index.js';

/** Where a list without page numbers continues: the next request. Its content is private to the client. */
export interface Position {
  /** Below the base URL. */
  readonly path: string;
  /** Without credentials. */
  readonly parameters: readonly [name: string, value: string][];
}

/** Returns whether each page of a collection points to the next one. */
export function isSequential(served: Served | undefined): served is Served {
  return served !== undefined && !isNumbered(served.paging) && served.paging.scheme !== 'none';
}

/** Returns the position where a list begins, or continues with a cursor. */
export function positionAt({ paging, query }: Served, path: string, limit: number, cursor?: string): Position {
  const size = 'limit' in paging && paging.limit !== undefined ? paging.limit : 'limit';
  const parameters = Object.entries(query);
  if (size !== 'none') parameters.push([size, String(limit)]);
  if (cursor !== undefined && paging.scheme === 'cursor') parameters.push([paging.param, cursor]);
  return { path, parameters };
}
