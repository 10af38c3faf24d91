import type { Row, Value } from '../../collections/index.js';
import { memoOfTexts, Table, Texts, valueAt, type Content } from '../../columnar/index.js';

/**
 * Asks for the rows of pages what is known for rows. Of a table it takes the fields that matter, as strings that are made once for
 * all rows that have the same text.
 *
 * @param find Depends on nothing but these fields.
 */
export function byColumns<R>(fields: readonly string[], find: (row: Row) => R): (content: Content) => (row: number) => R {
  const [only = ''] = fields;
  const found = memoOfTexts((text) => find({ [only]: text }));
  const texts = fields.map(() => memoOfTexts((text) => text));

  return (content) => {
    if (!(content instanceof Table)) return (row) => find(content[row] ?? {});
    const columns = fields.map((field) => content.columns.get(field) ?? []);
    const [first] = columns;
    if (columns.length === 1 && first instanceof Texts) return (row) => found(first, row);
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
