import type { Row, Value } from '../../core/index.js';

/**
 * The same row for a function that may try to change it. Rows are frozen, so that a change in place throws; code of CommonJS without `use strict`
 * is not told, and its change would be lost. This row tells every code. It takes ten times as long to copy, so few rows are given like this.
 *
 * @param refuse Throws, for a field that was to be set or removed.
 */
export function guarded(row: Row, refuse: (field: string) => never): Row {
  const changed = (_row: object, field: string | symbol): never => refuse(String(field));
  return new Proxy<Record<string, Value>>(row, { set: changed, defineProperty: changed, deleteProperty: changed });
}

/** What a function gave, with the row in the place of the guarded one. */
export function unguarded(given: unknown, guardedRow: Row, row: Row): unknown {
  if (given === guardedRow) return row;
  return Array.isArray(given) ? given.map((each: unknown) => (each === guardedRow ? row : each)) : given;
}

/** Of so many rows of a page, the first is guarded. */
export const guardedEvery = 64;
