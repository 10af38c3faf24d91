import type { Collection, Served } from '../collections/index.js';
import type { Reply } from './reply.js';

/** Where the list is, as findings call it. */
export function listAt({ rows }: Served): string {
  return rows.length === 0 ? 'the answer is the list' : `the list is at /${rows.join('/')}`;
}

/** What leads to the next page. */
export function nextAt({ paging }: Served): string {
  if (paging.scheme === 'cursor')
    return paging.next === undefined ? `the cursor in the field ${paging.last}` : `the cursor at ${paging.next}`;
  if (paging.scheme === 'link') return paging.next === undefined ? 'the link in the header Link' : `the link at ${paging.next}`;
  return parameterOf({ paging });
}

/** What of a request says which page is asked for. */
export function parameterOf({ paging }: Pick<Served, 'paging'>): string {
  if (paging.scheme === 'link') return 'what the link adds';
  return `the parameter ${'param' in paging && paging.param !== undefined ? paging.param : paging.scheme}`;
}

/** What is wrong where rows have to follow the first page and do not. */
export function lacking(served: Served, size: number): string {
  const rows = size === 1 ? 'one of its rows, the service gives it' : `${size} of its rows, the service gives these`;
  return `asked for ${rows} and nothing after: ${nextAt(served)} leads to no others`;
}

/** What would make an answer the end of the list, where something would. */
export function declareEnd({ endForm }: Reply): string {
  return endForm === undefined ? '' : `; declare end: ${endForm}`;
}

/** What the size of a page is called in a request. */
export function sizeParameter({ served }: Collection): string {
  const { paging } = served ?? {};
  return paging && 'limit' in paging && paging.limit !== undefined ? paging.limit : 'limit';
}
