import type { ServedTable } from '../source.js';

/** Characters that the tables of a source may keep, all together. */
export interface Room {
  left: number;
}

/**
 * A table whose rows are kept once they were computed, while there is room: most services of generated rows are read more than once, and computing a row
 * takes several times as long as sending it.
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
