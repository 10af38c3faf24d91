import type { Collection } from '../../collections/index.js';

/** A page by its number, and its maximum number of rows: `null` for the service's default. */
interface Numbered {
  readonly page: number | undefined;
  readonly limit: number | null;
}

/**
 * Returns the parameters of a page of a list with page numbers; without a number, those of every request.
 *
 * @param usual Rows per page for computing an offset if none are given.
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
