import { isNumbered, type Served } from '../../collections/index.js';

/** Where a list goes on whose pages have no numbers: what is asked for next. Nobody but the client looks into it. */
export interface Position {
  /** Below the base URL. */
  readonly path: string;
  /** Without credentials. */
  readonly parameters: readonly [name: string, value: string][];
}

/** Whether the pages of a collection come one after another, each telling where the next one is. */
export function isSequential(served: Served | undefined): served is Served {
  return served !== undefined && !isNumbered(served.paging) && served.paging.scheme !== 'none';
}

/** Where a list begins, or with a cursor goes on. */
export function positionAt({ paging, query }: Served, path: string, limit: number, cursor?: string): Position {
  const size = 'limit' in paging && paging.limit !== undefined ? paging.limit : 'limit';
  const parameters = Object.entries(query);
  if (size !== 'none') parameters.push([size, String(limit)]);
  if (cursor !== undefined && paging.scheme === 'cursor') parameters.push([paging.param, cursor]);
  return { path, parameters };
}
