import { collections, originalName, type Collection, type CollectionName } from '../../collections/index.js';
import type { Draw } from '../generate/random.js';
import type { ServedTable } from '../source.js';

/** What can happen to a list. */
export type Change = 'insert-head' | 'insert-tail' | 'delete';

/** A table whose rows come and go. */
export interface DriftingTable {
  /** The table as it is now; later changes do not affect it. */
  readonly table: ServedTable;
  /** Makes a change and returns the row that it affected, or nothing when the list has no row for it. */
  change(change: Change, draw: Draw): { readonly key: string; readonly position: number } | undefined;
  /** Keys now (`keys`) and before the first change (`firstKeys`), in the order of the list. */
  keys(): readonly string[];
  firstKeys(): readonly string[];
}

/** Key of the first new row. */
const firstNumber = 9_000_000_000;

/**
 * Creates a table over the positions of another one. It holds one number per row, and the text of each new row.
 *
 * @param name The collection, whose key names the rows.
 */
export function driftingTable(base: ServedTable, name: CollectionName): DriftingTable {
  const collection = collections[name];
  const count = base.count;
  /** Positions in the base; from `count` on, those of the new rows. */
  let positions: readonly number[] = Array.from({ length: count }, (_, position) => position);
  const came: string[] = [];
  const rowAt = (position: number): string => (position < count ? base.row(position) : (came[position - count] ?? ''));

  function insert(at: number, draw: Draw): { key: string; position: number } {
    const row = renamed(base.row(draw.below(count)), collection, String(firstNumber + came.length));
    positions = positions.toSpliced(at, 0, count + came.length);
    came.push(row);
    return { key: keyOf(row, collection), position: at };
  }

  return {
    get table(): ServedTable {
      const now = positions;
      return {
        count: now.length,
        row: (index) => rowAt(now[index] ?? -1),
        find: (id) => {
          const own = came.flatMap((row, index) => (fieldOf(row, collection, collection.id) === id ? [count + index] : []));
          return [...base.find(id), ...own].map((position) => now.indexOf(position)).filter((index) => index !== -1);
        },
      };
    },
    change: (change, draw) => {
      if (count === 0 || (change === 'delete' && positions.length === 0)) return undefined;
      if (change !== 'delete') return insert(change === 'insert-head' ? 0 : positions.length, draw);
      const position = draw.below(positions.length);
      const key = keyOf(rowAt(positions[position] ?? -1), collection);
      positions = positions.toSpliced(position, 1);
      return { key, position };
    },
    keys: () => positions.map((position) => keyOf(rowAt(position), collection)),
    firstKeys: () => baseKeys(base, collection),
  };
}

/** Cached, because many services may drift from one source. */
function baseKeys(base: ServedTable, collection: Collection): readonly string[] {
  const keys = known.get(base) ?? Array.from({ length: base.count }, (_, position) => keyOf(base.row(position), collection));
  known.set(base, keys);
  return keys;
}
const known = new WeakMap<ServedTable, readonly string[]>();

/** Gives a row another key. Changes a key column that is not the identifier in the path, if there is one. */
function renamed(row: string, { key, id, fields }: Collection, value: string): string {
  const column = key.find((candidate) => candidate !== id) ?? id;
  const field = fields[column];
  return JSON.stringify({ ...parsed(row), [field ? originalName(column, field) : column]: value });
}

function keyOf(row: string, collection: Collection): string {
  return collection.key.map((column) => fieldOf(row, collection, column)).join('|');
}

function fieldOf(row: string, { fields }: Collection, column: string): string {
  const field = fields[column];
  return String(Reflect.get(parsed(row), field ? originalName(column, field) : column));
}

function parsed(row: string): object {
  const value: unknown = JSON.parse(row);
  return typeof value === 'object' && value !== null ? value : {};
}
