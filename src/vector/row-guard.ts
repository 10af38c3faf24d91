import type { Row } from '../core/index.js';
import { byShape } from './by-shape.js';
import { detachedCopier, differenceFinder } from './copier.js';

/**
 * Shows rows to functions that may try to change them. A row of a batch is frozen, and where code is not strict, a change of it is lost without a word;
 * that of a copy can be seen. It costs about 0.3 µs for a row of 33 fields.
 *
 * Symbols, properties that are not enumerable, and another prototype it sees where it looks closely, which costs several times as much.
 */
export interface RowGuard<T = Row> {
  /** A row that looks the same, and that anybody may change. */
  copy(row: T): T;
  /** The first field of a copy that was set, removed or added. Default: what only a close look sees is none. */
  changed(copy: T, closely?: boolean): string | undefined;
}

/** Names the first of some fields in which two rows differ; dates of the same instant are the same. */
export const difference = byShape(differenceFinder);

/** The guard of rows with these fields. */
export const rowGuard = byShape((names): RowGuard => {
  const copy = detachedCopier(names);
  const differs = difference(names);
  const isField = new Set<unknown>(names);
  const reshaped = (row: Row): string | undefined => {
    const other = Reflect.ownKeys(row).find((name) => !isField.has(name)) ?? names.find((name) => !Object.keys(row).includes(name));
    if (other !== undefined) return String(other);
    return Object.getPrototypeOf(row) === Object.prototype ? undefined : '__proto__';
  };
  return {
    copy: (row) => CopiedRow.of(row, copy(row)),
    changed: (row, closely = false) =>
      differs(CopiedRow.original(row), row) ?? (closely || fieldsOf(row) !== names.length ? reshaped(row) : undefined),
  };
});

/** What `new` gives when a constructor returns an object: that very object. */
const itself = function (row: Row): Row {
  return row;
} as unknown as new (row: Row) => object;

/**
 * A copy that knows its row, by a private field: nobody sees that, not even a clone. In Node 20, what `{ ...copy, x }` gives has a hidden class
 * for each object where the copy has none but public fields, and reading it takes ten times as long.
 */
class CopiedRow extends itself {
  readonly #row: Row;

  private constructor(row: Row, copy: Row) {
    super(copy);
    this.#row = row;
  }

  static of(row: Row, copy: Row): Row {
    return new CopiedRow(row, copy) as unknown as Row;
  }

  static is(value: unknown): boolean {
    return typeof value === 'object' && value !== null && #row in value;
  }

  static original(copy: Row): Row {
    return (copy as unknown as CopiedRow).#row;
  }
}

/** About half of what `Object.keys` costs; what is inherited counts, too, so that it says who has to look again. */
function fieldsOf(row: Row): number {
  let count = 0;
  for (const _name in row) count += 1;
  return count;
}

/** Whether a value is a copy that a guard made. */
export function isCopiedRow(value: unknown): boolean {
  return CopiedRow.is(value);
}
