import type { Row, Value } from '../../collections/index.js';
import { Coded, memoOfTexts, Table, Texts, valueAt, type Cells, type Content } from '../../columnar/index.js';

/**
 * Asks for the rows of pages what is known for rows. Of a table it takes the fields that matter, as strings that are made once for
 * all rows that have the same text. Where the fields share their codes, each code is asked for once.
 *
 * @param find Depends on nothing but these fields, and never finds `undefined`.
 */
export function byColumns<R extends NonNullable<unknown> | null>(
  fields: readonly string[],
  find: (row: Row) => R,
): (content: Content) => (row: number) => R {
  const [only = ''] = fields;
  const found = memoOfTexts((text) => find({ [only]: text }));
  const texts = fields.map(() => memoOfTexts((text) => text));
  const byCode = memoByCode((values) => find(Object.fromEntries(fields.map((field, index) => [field, values[index] ?? null]))));

  return (content) => {
    if (!(content instanceof Table)) return (row) => find(content[row] ?? {});
    const columns = fields.map((field) => content.columns.get(field) ?? []);
    const [first] = columns;
    if (columns.length === 1 && first instanceof Texts) return (row) => found(first, row);
    if (shareCodes(columns)) return byCode(columns);
    const readers = columns.map((cells, index) => {
      const text = texts[index];
      return cells instanceof Texts && text ? (row: number) => text(cells, row) : (row: number) => valueAt(cells, row);
    });
    return (row) => {
      const probe: Record<string, Value> = {};
      for (let index = 0; index < readers.length; index += 1) probe[fields[index] ?? ''] = readers[index]?.(row) ?? null;
      return find(probe);
    };
  };
}

function shareCodes(columns: readonly Cells[]): columns is readonly Coded[] {
  const [first] = columns;
  return first instanceof Coded && columns.every((cells) => cells instanceof Coded && cells.codes === first.codes);
}

/** Remembers what a function finds for the values that columns have at a code, as long as their dictionaries stay the same. */
function memoByCode<R extends NonNullable<unknown> | null>(
  find: (values: readonly Value[]) => R,
): (columns: readonly Coded[]) => (row: number) => R {
  let dictionaries: readonly (readonly Value[])[] = [];
  let known: (R | undefined)[] = [];

  return (columns) => {
    if (columns.some(({ values }, index) => values !== dictionaries[index])) {
      dictionaries = columns.map(({ values }) => values);
      known = [];
    }
    const [first] = columns;
    if (!first) return () => find([]);
    const found = known;
    while (found.length < first.values.length) found.push(undefined);
    return (row) => {
      const code = first.codes[row] ?? 0;
      const earlier = found[code];
      if (earlier !== undefined) return earlier;
      const now = find(columns.map(({ values }) => values[code] ?? null));
      found[code] = now;
      return now;
    };
  };
}
