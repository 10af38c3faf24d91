import type { Collection } from '../../collections/index.js';

/** A page by its number, and how many rows it may have: `null` for as many as the service likes. */
interface Numbered {
  readonly page: number | undefined;
  readonly limit: number | null;
}

/**
 * The parameters of a page of a list whose pages have numbers; without a number, those that every request has.
 *
 * @param usual Rows of a page where an offset has to be reckoned, and none are named.
 */
export function listQuery({ served }: Collection, { page, limit: size }: Numbered, usual: number): Readonly<Record<string, string>> {
  const { paging } = served ?? {};
  if (page === undefined || paging?.scheme === 'none') return served?.query ?? {};
  if (!paging) return { page: String(page), ...(size === null ? {} : { limit: String(size) }) };
  const rows = size ?? usual;
  const limit = 'limit' in paging && paging.limit !== undefined ? paging.limit : 'limit';
  const param = 'param' in paging && paging.param !== undefined ? paging.param : paging.scheme;
  const place = paging.scheme === 'offset' ? (page - 1) * rows : page;
  return { ...served?.query, [param]: String(place), ...(limit === 'none' ? {} : { [limit]: String(rows) }) };
}
