import type { Row, Value } from '../../core/index.js';
import { DictionaryVector, FlatVector, maxDictionary, type Vector } from '../../vector/index.js';

/** The rows of the other side that share a key. Only added fields and what `pick` compares are kept. */
export type Index = Map<string, Row[]>;

/** Rows of the other side that match, as places in the columns of fields that may be added; one stands without a list. */
export type Matches = number | readonly number[];

/** Where no row matches: the row of nulls that comes first there. */
export const unmatched = 0;

/** The fields of the other side that rows may get. */
export interface BuildSide {
  /** The rows that share a key, by the key. */
  readonly places: ReadonlyMap<string, Matches>;
  /** The columns that are added to rows that match these. Where the other side is small, the same dictionaries for all pages. */
  columnsOf(matches: readonly number[]): readonly (readonly [name: string, vector: Vector])[];
}

/** @param names What the selected fields are called where they are added. */
export function buildSide(index: Index, select: readonly string[], names: readonly string[]): BuildSide {
  const columns = select.map((field, at) => ({ field, name: names[at] ?? field, values: [null] as Value[] }));
  const places = new Map<string, Matches>();
  let rows = 1;
  for (const [key, matches] of index) {
    const own = matches.map((_, at) => rows + at);
    rows += own.length;
    places.set(key, own.length === 1 ? (own[0] ?? unmatched) : own);
    for (const match of matches) for (const { field, values } of columns) values.push(match[field] ?? null);
  }

  return {
    places,
    columnsOf(matches) {
      if (rows > maxDictionary) return columns.map(({ name, values }) => [name, new FlatVector(values).take(matches)]);
      const indices = Uint16Array.from(matches);
      return columns.map(({ name, values }) => [name, new DictionaryVector(values, indices)]);
    },
  };
}
