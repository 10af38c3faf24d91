import { collections } from '../collections/index.js';
import { failure, type Answer, type Answerer, type RequestFacts, type View } from './answer.js';
import { rowsOf, type ServedTable } from './source.js';

/** How lists are paged: the points of it that the service's document leaves open. */
export interface Paging {
  /** Number of the first page. */
  readonly firstPage: number;
  /** Rows per page when the request names no `limit`. */
  readonly defaultLimit: number;
  /** The most rows that a page holds; a larger `limit` counts as this one. */
  readonly cap: number;
  /** Whether a `limit` over the cap is refused with 400 instead. */
  readonly refuseOverCap: boolean;
  /** Whether pages past the end are the last page again. */
  readonly repeatLast: boolean;
  /** Whether every page is the first one. */
  readonly ignorePage: boolean;
  /** Whether the collections without paging are paged too. */
  readonly pageAll: boolean;
}

/** How the service pages when nothing else is asked of it. */
export const plainPaging: Paging = {
  firstPage: 1,
  defaultLimit: 30,
  cap: 500,
  refuseOverCap: false,
  repeatLast: false,
  ignorePage: false,
  pageAll: false,
};

/** The honest answer: the page, the whole list of a collection without paging, or the rows of an identifier. */
export function answerFrom(view: View, paging: Paging): Answerer {
  return (facts) => {
    const table = view(facts);
    if (facts.id !== null) return { kind: 'rows', rows: table.find(facts.id).map((index) => table.row(index)) };
    if (collections[facts.collection].paged || paging.pageAll) return pageOf(table, facts, paging);
    return { kind: 'rows', rows: rowsOf(table, 0, table.count) };
  };
}

/** The rows of a page, or the refusal of a page that cannot be. */
function pageOf(table: ServedTable, { page, limit }: RequestFacts, paging: Paging): Answer {
  const { firstPage, cap } = paging;
  if (!(page >= firstPage)) return failure(400, `page must be a whole number from ${firstPage} on`);
  if (!(limit >= 1)) return failure(400, 'limit must be a whole number from 1 on');
  if (limit > cap && paging.refuseOverCap) return failure(400, `limit must be at most ${cap}`);
  const size = Math.min(limit, cap);
  const last = Math.max(Math.ceil(table.count / size) - 1, 0);
  const asked = paging.ignorePage ? 0 : page - firstPage;
  return { kind: 'rows', rows: rowsOf(table, (paging.repeatLast ? Math.min(asked, last) : asked) * size, size) };
}
