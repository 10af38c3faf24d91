/** What `sort_by` of a table takes. */
export type SortBy =
  | readonly string[]
  | { readonly columns: readonly string[]; readonly scope: SortScope; readonly memory?: number | undefined };

/** What is sorted: the rows of each row group, or all rows of the run. */
export type SortScope = 'row_group' | 'table';

/** What `sort_by` says in either of its forms. */
export interface SortPlan {
  readonly columns: readonly string[];
  readonly scope: SortScope;
  /** In bytes. */
  readonly memory?: number | undefined;
  /** Where the columns stand in it. */
  readonly path: readonly string[];
}

export function sortPlanOf({ sort_by: by }: { readonly sort_by: SortBy }): SortPlan {
  return 'scope' in by ? { ...by, path: ['columns'] } : { columns: by, scope: 'row_group', path: [] };
}

/** A column to sort by. */
export interface SortOrder {
  readonly field: string;
  readonly descending: boolean;
}

/** What `sort_by` says, by field. */
export function sortingOf(options: { readonly sort_by: SortBy }): readonly SortOrder[] {
  return sortPlanOf(options).columns.map(orderOf);
}

/** What `timestamp desc` says. */
export function orderOf(text: string): SortOrder {
  const [field = '', direction] = text.split(' ');
  return { field, descending: direction === 'desc' };
}
