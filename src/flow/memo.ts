import type { Row } from '../collections/index.js';

/** A place in the tree of values: what is below it, or what was found for the values that lead to it. */
interface Node<R> {
  below?: Map<string, Node<R>>;
  found?: R;
}

/**
 * Remembers what a function found for the texts that a row has in some columns, where few of them come often: going down
 * a tree of texts as they stand took 0.23 µs where folding two of them and putting them together took 0.65 µs.
 *
 * Memory: what was found for `most` combinations at most; when there are more, it begins anew.
 *
 * @param find Depends on nothing but these columns, and never finds `undefined`.
 */
export function memoByFields<R extends NonNullable<unknown> | null>(
  columns: readonly string[],
  find: (row: Row) => R,
  most = 65_536,
): (row: Row) => R {
  let root: Node<R> = {};
  let size = 0;

  return (row) => {
    let node = root;
    for (const column of columns) {
      const text = row[column];
      if (typeof text !== 'string') return find(row);
      node.below ??= new Map();
      let next = node.below.get(text);
      if (!next) {
        next = {};
        node.below.set(text, next);
      }
      node = next;
    }
    if (node.found === undefined) {
      node.found = find(row);
      size += 1;
      if (size > most) {
        root = {};
        size = 0;
      }
    }
    return node.found;
  };
}
