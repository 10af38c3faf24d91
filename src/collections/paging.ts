/** The schemes by which a collection of one's own may be paged. */
export const schemes = ['page', 'offset', 'cursor', 'link', 'none'] as const;

/**
 * How a collection of one's own is paged. `limit` is the parameter of the page size, or `none` when the service takes none; `param` that
 * of the page number, the offset or the cursor. Pointers are JSON pointers (RFC 6901) into the answer.
 */
export type Paging =
  /** Pages by number, from `first` on: 0 or 1, by default 1, and then it is checked that there is none before it. */
  | { readonly scheme: 'page'; readonly param?: string; readonly limit?: string; readonly first?: number }
  /** Pages by the number of rows before them. */
  | { readonly scheme: 'offset'; readonly param?: string; readonly limit?: string }
  /**
   * Each page names the next by a cursor, which is at `next`, or is the field `last` of its last row. The list ends where there is none, or
   * where what is at `more` is `false`.
   */
  | {
      readonly scheme: 'cursor';
      readonly param: string;
      readonly next?: string;
      readonly last?: string;
      readonly more?: string;
      readonly limit?: string;
    }
  /** Each page links to the next: by a header `Link` with `rel="next"` (RFC 8288), or at `next` in the answer. */
  | { readonly scheme: 'link'; readonly next?: string; readonly limit?: string }
  /** One answer has all rows. */
  | { readonly scheme: 'none' };

/** Answers other than an empty list at its end that mean that there are no more rows, where a collection says so. */
export const endForms = ['empty_object', 'null', 'no_content', 'no_rows', 'not_found', 'empty_page'] as const;

/**
 * `{}`, `null`, an empty answer (or status 204), an answer without anything where its rows should be, status 404, or by cursor and link a page
 * without rows that names a next one all the same.
 */
export type EndForm = (typeof endForms)[number];

/** Whether the pages of a list have numbers, so that any of them can be asked for. */
export function isNumbered({ scheme }: Paging): boolean {
  return scheme === 'page' || scheme === 'offset';
}
