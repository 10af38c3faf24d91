import { collections } from '../collections/index.js';
import { failure, type Answer, type Answerer, type RequestFacts, type View } from './answer.js';
import { rowsOf, type ServedTable } from './source.js';

/** How lists are paged: the details that the service's documentation leaves open. */
export interface Paging {
  /** Number of the first page. */
  readonly firstPage: number;
  /** Rows per page when the request has no `limit`. */
  readonly defaultLimit: number;
  /** Most rows of a page; a larger `limit` counts as this one. */
  readonly cap: number;
  /** Whether a `limit` over the cap is refused with 400 instead. */
  readonly refuseOverCap: boolean;
  /** Whether pages past the end repeat the last page. */
  readonly repeatLast: boolean;
  /** Whether every page is the first one. */
  readonly ignorePage: boolean;
  /** Whether collections without paging are paged, too. */
  readonly pageAll: boolean;
}

/** The default paging of the service. */
export const plainPaging: Paging = {
  firstPage: 1,
  defaultLimit: 30,
  cap: 500,
  refuseOverCap: false,
  repeatLast: false,
  ignorePage: false,
  pageAll: false,
};

/** Answers honestly: with the page, the whole list of a collection without paging, or the rows of an identifier. */
export function answerFrom(view: View, paging: Paging): Answerer {
  return (facts) => {
    const table = view(facts);
    if (facts.id !== null) return { kind: 'rows', rows: table.find(facts.id).map((index) => table.row(index)) };
    if (collections[facts.collection].paged || paging.pageAll) return pageOf(table, facts, paging);
    return { kind: 'rows', rows: rowsOf(table, 0, table.count) };
  };
}

/** Returns the rows of a page, or a refusal if there can be no such page. */
function pageOf(table: ServedTable, { page, limit }: RequestFacts, paging: Paging): Answer {
  const { firstPage, cap } = paging;
  if (!(page >= firstPage)) return failure(400, `page must be a whole number, at least ${firstPage}`);
  if (!(limit >= 1)) return failure(400, 'limit must be a whole number, at least 1');
  if (limit > cap && paging.refuseOverCap) return failure(400, `limit must be at most ${cap}`);
  const size = Math.min(limit, cap);
  const last = Math.max(Math.ceil(table.count / size) - 1, 0);
  const asked = paging.ignorePage ? 0 : page - firstPage;
  return { kind: 'rows', rows: rowsOf(table, (paging.repeatLast ? Math.min(asked, last) : asked) * size, size) };
}
