import { parserOf, type DeclaredType, type Row } from '../../core/index.js';
import { keyOf } from '../../vector/index.js';

/**
 * Which of several matching rows a join takes: the `first` read, `all` of them, the one with the greatest (`max`) or least
 * (`min`) value, or none of them: `error`. `type` says how texts compare, by default as decimals; a value that does
 * not cast loses against one that does. Ties go to the row whose key comes first.
 */
export type Pick<Field extends string = string> =
  | 'first'
  | 'all'
  | 'error'
  | { readonly max: Field; readonly type?: DeclaredType }
  | { readonly min: Field; readonly type?: DeclaredType };

/** Decides whether a row should take the place of the one that was kept so far. */
export function preferenceOf(pick: Pick, key: readonly string[]): (candidate: Row, kept: Row) => boolean {
  if (typeof pick === 'string') return () => false;
  const field = 'max' in pick ? pick.max : pick.min;
  const sign = 'max' in pick ? 1 : -1;
  const parse = parserOf(pick.type ?? 'decimal');

  function valueOf(row: Row) {
    const value = row[field];
    return (typeof value === 'string' ? parse(value) : value) ?? undefined;
  }

  return (candidate, kept) => {
    const [a, b] = [valueOf(candidate), valueOf(kept)];
    if (b === undefined && a !== undefined) return true;
    if (a === undefined && b !== undefined) return false;
    if (a !== undefined && b !== undefined) {
      if (a > b) return sign > 0;
      if (a < b) return sign < 0;
    }
    return comesFirst(candidate, kept, key);
  };
}

/** Compares keys as text, column by column; a missing value comes last. */
function comesFirst(candidate: Row, kept: Row, key: readonly string[]): boolean {
  for (const column of key) {
    const [a, b] = [keyOf([candidate[column] ?? null]), keyOf([kept[column] ?? null])];
    if (a === b) continue;
    return b === undefined || (a !== undefined && a < b);
  }
  return false;
}
