import { copier, type Copier, type Origin, type Row, type Value } from '../collections/index.js';
import { Table, valueAt, type Cells, type Content } from '../columnar/index.js';

/** Fields of the new row in order, by the fields of the one that it is made of. */
export type Layout = (names: readonly string[]) => ReadonlyMap<string, Origin>;

/** Rows of more shapes than this are copied slowly: each shape costs a generated function. */
const mostShapes = 16;

/**
 * Makes a function that makes rows out of others and of values given beside them, with a generated copier for each set of
 * fields that it meets. Rows of a service have one set of fields, or a few if some lack what others have.
 *
 * @param layout Asked once per set of fields, in the order of the row.
 *
 * @example
 * reshape((names) => new Map(names.map((name) => [name.toUpperCase(), name])))({ uid: '7' }, []); // { UID: '7' }
 */
export function reshape(layout: Layout): Copier {
  const shapes: { readonly names: readonly string[]; readonly copy: Copier }[] = [];

  return (row, given) => {
    for (const { names, copy } of shapes) if (hasFields(row, names)) return copy(row, given);
    const names = Object.keys(row);
    const fields = layout(names);
    if (shapes.length >= mostShapes) return Object.fromEntries([...fields].map(([name, origin]) => [name, valueOf(row, given, origin)]));
    const copy = copier(fields);
    shapes.push({ names, copy });
    return copy(row, given);
  };
}

/**
 * The same for all rows of a page, and columns of values given beside them, row by row. A table stays one: its columns are handed
 * on as they are.
 */
export function reshapeAll(layout: Layout): (content: Content, given: readonly Cells[]) => Content {
  const copy = reshape(layout);

  return (content, given) => {
    if (!(content instanceof Table)) {
      return content.map((row, index) => {
        const values = given.map((cells) => valueAt(cells, index));
        return copy(row, values);
      });
    }
    const fields = [...layout([...content.columns.keys()])];
    const cellsOf = (origin: Origin) => (typeof origin === 'string' ? content.columns.get(origin) : given[origin]) ?? [];
    return new Table(content.length, new Map(fields.map(([name, origin]) => [name, cellsOf(origin)])));
  };
}

/** The layout of rows that get fields, the given values in this order; a field that exists keeps its place. */
export function withFields(added: readonly string[]): Layout {
  return (names) =>
    new Map<string, Origin>([...names.map((name) => [name, name] as const), ...added.map((name, index) => [name, index] as const)]);
}

/** `for in` costs a third less than `Object.keys`. It names inherited fields last: where the last one is the row's own, all are. */
function hasFields(row: Row, names: readonly string[]): boolean {
  let index = 0;
  for (const name in row) {
    if (name !== names[index]) return false;
    index += 1;
  }
  const last = names.at(-1);
  return index === names.length && (last === undefined || Object.hasOwn(row, last));
}

function valueOf(row: Row, given: readonly Value[], origin: Origin): Value {
  return (typeof origin === 'string' ? row[origin] : given[origin]) ?? null;
}
