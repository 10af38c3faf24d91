/** The forms of `sort_by` of a table. */
export type SortBy =
  | readonly string[]
  | { readonly columns: readonly string[]; readonly scope: SortScope; readonly memory?: number | undefined };

/** What is sorted: the rows of each row group, or all rows of the run. */
export type SortScope = 'row_group' | 'table';

/** The content of `sort_by`, in a single form. */
export interface SortPlan {
  readonly columns: readonly string[];
  readonly scope: SortScope;
  /** In bytes. */
  readonly memory?: number | undefined;
  /** Path of the columns within the option. */
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

/** Returns the columns of `sort_by` with their direction. */
export function sortingOf(options: { readonly sort_by: SortBy }): readonly SortOrder[] {
  return sortPlanOf(options).columns.map(orderOf);
}

/** Parses an order such as `timestamp desc`. */
export function orderOf(text: string): SortOrder {
  const [field = '', direction] = text.split(' ');
  return { field, descending: direction === 'desc' };
}
