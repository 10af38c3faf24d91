import type { ServedTable } from '../source.js';

/** Characters that the tables of a source may still keep, all together. */
export interface Room {
  left: number;
}

/**
 * Keeps the rows of a table once they are computed, while there is space: most services of generated rows are read more than once, and computing a row takes
 * several times as long as sending it.
 */
export function keepingRows(table: ServedTable, room: Room): ServedTable {
  const kept = new Map<number, string>();
  return {
    count: table.count,
    find: (id) => table.find(id),
    row: (index) => {
      const known = kept.get(index);
      if (known !== undefined) return known;
      const row = table.row(index);
      if (row.length <= room.left) {
        room.left -= row.length;
        kept.set(index, row);
      }
      return row;
    },
  };
}
