import { parserOf, type DeclaredType, type Value } from '../../core/index.js';
import { keyOf } from '../../vector/index.js';

/**
 * Which of several matching rows a join takes: the `first` one read, `all` of them, the one with the greatest (`max`) or least (`min`) value, or
 * none: `error`. `type` is the type that texts are compared as, by default decimal; a value that does not cast loses against one that does. Ties go
 * to the row whose key comes first.
 */
export type Pick<Field extends string = string> =
  | 'first'
  | 'all'
  | 'error'
  | { readonly max: Field; readonly type?: DeclaredType }
  | { readonly min: Field; readonly type?: DeclaredType };

/** The default for several matches: take none, and fail the run. */
export const defaultPick = 'error';

/** Returns the value of a field of a row. */
type ValueOf = (field: string) => Value;

/** Decides whether a row replaces the one kept so far. */
export type Preference = (candidate: ValueOf, kept: ValueOf) => boolean;

/** @param key Fields that break ties. */
export function preferenceOf(pick: Pick, key: readonly string[]): Preference {
  if (typeof pick === 'string') return () => false;
  const field = 'max' in pick ? pick.max : pick.min;
  const sign = 'max' in pick ? 1 : -1;
  const parse = parserOf(pick.type ?? 'decimal');

  function comparable(value: Value) {
    return (typeof value === 'string' ? parse(value) : value) ?? undefined;
  }

  return (candidate, kept) => {
    const [a, b] = [comparable(candidate(field)), comparable(kept(field))];
    if (b === undefined && a !== undefined) return true;
    if (a === undefined && b !== undefined) return false;
    if (a !== undefined && b !== undefined) {
      if (a > b) return sign > 0;
      if (a < b) return sign < 0;
    }
    return comesFirst(candidate, kept, key);
  };
}

/** Returns the fields that decide between several matches. */
export function comparedBy(pick: Pick | undefined): readonly string[] {
  if (pick === undefined || typeof pick === 'string') return [];
  return ['max' in pick ? pick.max : pick.min];
}

/** Compares keys as text, column by column; a missing value comes last. */
function comesFirst(candidate: ValueOf, kept: ValueOf, key: readonly string[]): boolean {
  for (const column of key) {
    const [a, b] = [keyOf([candidate(column)]), keyOf([kept(column)])];
    if (a === b) continue;
    return b === undefined || (a !== undefined && a < b);
  }
  return false;
}
