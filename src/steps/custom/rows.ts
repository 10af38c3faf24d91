import type { Row } from '../../core/index.js';
import { DeclaredValues, isRow, kindOf, refusedPromise, type Refused } from '../../flow/index.js';
import type { RecordBatch } from '../../vector/index.js';
import type { StepColumns } from './columns.js';

/** How many rows a step may return for one row. */
export type RowsGiven = 'same' | 'fewer' | 'any';

/** Checks what a step returns against its declaration, and turns it into columns. Columns that the step leaves alone are not copied. */
export class GivenRows {
  readonly #values: DeclaredValues;
  /** For each row taken, the index of the row it was made from. */
  readonly #places: number[] = [];
  readonly #stay: readonly string[];
  /** The fields that the step must return unchanged. */
  readonly #unchanged: readonly string[];
  readonly #known: ReadonlySet<string>;
  #seen = 0;

  constructor(
    private readonly batch: RecordBatch,
    { adds, removes }: StepColumns,
    private readonly most: RowsGiven,
  ) {
    const names = [...batch.columns.keys()];
    this.#values = new DeclaredValues(adds);
    this.#stay = names.filter((name) => !removes.includes(name));
    this.#unchanged = this.#stay.filter((name) => !Object.hasOwn(adds, name));
    this.#known = new Set([...names, ...Object.keys(adds)]);
  }

  /** Takes what was returned for a row. @returns What is wrong with it, if anything. */
  take(row: Row, given: unknown): Refused | undefined {
    const some: readonly unknown[] = Array.isArray(given) ? given : given === null || given === undefined ? [] : [given];
    const wrong = refusedPromise(given) ?? this.#wrongCount(some.length);
    if (wrong) return wrong;
    for (const each of some) {
      if (!isRow(each)) return { what: `returned ${kindOf(each)}`, remedy: 'return a row, like { ...row }' };
      const fault = this.#wrongFields(row, each) ?? this.#values.take(each);
      if (fault) return fault;
      this.#places.push(this.#seen);
    }
    this.#seen += 1;
    return undefined;
  }

  /** Number of rows taken. */
  get length(): number {
    return this.#places.length;
  }

  /** Returns the rows taken, as columns. */
  toBatch(): RecordBatch {
    const left = this.batch.select(this.#stay);
    const isOneForOne = this.#places.length === this.#seen && this.#places.every((place, index) => place === index);
    return (isOneForOne ? left : left.take(this.#places)).with(this.#values.columns());
  }

  #wrongCount(count: number): Refused | undefined {
    if (count === 0 && this.most === 'same')
      return {
        what: 'returned no row',
        remedy: "declare rows: 'fewer' if the step leaves rows out; a row kept for later would be lost",
      };
    if (count > 1 && this.most !== 'any')
      return { what: `returned ${count} rows`, remedy: "declare rows: 'any' if the step returns several" };
    return undefined;
  }

  #wrongFields(row: Row, given: Row): Refused | undefined {
    const other = this.#unchanged.find((name) => !isSame(given[name], row[name]));
    if (other !== undefined) {
      if (!Object.hasOwn(given, other))
        return { what: `left out the field '${other}'`, remedy: 'return { ...row, … }, or list it under removes' };
      return { what: `changed the field '${other}'`, remedy: 'list it under adds, with its type' };
    }
    const unknown = Object.keys(given).find((name) => !this.#known.has(name));
    return unknown === undefined ? undefined : { what: `added the field '${unknown}'`, remedy: 'list it under adds, with its type' };
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return Object.is(one, other) || (one instanceof Date && other instanceof Date && Object.is(one.getTime(), other.getTime()));
}
