import type { Row, Value } from '../../collections/index.js';
import { Coded, mostCodes, type Cells } from '../../columnar/index.js';

/** The rows of the other side that share a key. Only added fields and what `pick` compares are kept. */
export type Index = Map<string, Row[]>;

/** Rows of the other side that match, as places in the columns of fields that may be added; one stands without a list. */
export type Matches = number | readonly number[];

/** Where no row matches: the row of nulls that comes first there. */
export const unmatched = 0;

/** The fields of the other side that rows may get. */
export interface Addable {
  /** The rows that share a key, by the key. */
  readonly places: ReadonlyMap<string, Matches>;
  /** The columns that are added to rows that match these. Where the other side is small, the same dictionaries for all pages. */
  cellsOf(matches: readonly number[]): readonly Cells[];
}

export function addable(index: Index, select: readonly string[]): Addable {
  const columns = select.map((): Value[] => [null]);
  const places = new Map<string, Matches>();
  let rows = 1;
  for (const [key, matches] of index) {
    const own = matches.map((_, at) => rows + at);
    rows += own.length;
    places.set(key, own.length === 1 ? (own[0] ?? unmatched) : own);
    for (const match of matches) for (const [at, field] of select.entries()) columns[at]?.push(match[field] ?? null);
  }

  return {
    places,
    cellsOf(matches) {
      if (rows > mostCodes) return columns.map((values) => matches.map((place) => values[place] ?? null));
      const codes = Uint16Array.from(matches);
      return columns.map((values) => new Coded(values, codes));
    },
  };
}
