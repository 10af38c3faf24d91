import type { Collection, Served } from '../collections/index.js';
import type { Reply } from './reply.js';

/** Describes where the list is, for findings. */
export function listAt({ rows }: Served): string {
  return rows.length === 0 ? 'the response is the list' : `the list is at /${rows.join('/')}`;
}

/** Describes what leads to the next page. */
export function nextAt({ paging }: Served): string {
  if (paging.scheme === 'cursor')
    return paging.next === undefined ? `the cursor in the field ${paging.last}` : `the cursor at ${paging.next}`;
  if (paging.scheme === 'link') return paging.next === undefined ? 'the link in the header Link' : `the link at ${paging.next}`;
  return parameterOf({ paging });
}

/** Describes the part of a request that selects the page. */
export function parameterOf({ paging }: Pick<Served, 'paging'>): string {
  if (paging.scheme === 'link') return 'what the link adds';
  return `the parameter ${'param' in paging && paging.param !== undefined ? paging.param : paging.scheme}`;
}

/** Explains that rows should follow the first page, but do not. */
export function lacking(served: Served, size: number): string {
  const rows = size === 1 ? 'one of its rows, the service returns it' : `${size} of its rows, the service returns them`;
  return `asked for ${rows} but nothing after: ${nextAt(served)} leads to no others`;
}

/** Suggests the declaration that would make an answer the end of the list, if there is one. */
export function declareEnd({ endForm }: Reply): string {
  return endForm === undefined ? '' : `; declare end: ${endForm}`;
}

/** Returns the name of the page size in requests. */
export function sizeParameter({ served }: Collection): string {
  const { paging } = served ?? {};
  return paging && 'limit' in paging && paging.limit !== undefined ? paging.limit : 'limit';
}
