import { itemAt, type Row, type Value } from '../core/index.js';
import { columnReader, detachedCopier, ownValue, rowMaker, type RowMaker } from './copier.js';
import { FlatVector, taking, type Vector } from './vectors.js';

/**
 * Rows as columns, in the order of a row's fields. Most texts stay untouched from the response to the file; row objects are created on demand.
 */
export class RecordBatch {
  /** No rows, and no columns. */
  static readonly empty = new RecordBatch(0, new Map());
  #rows: readonly Row[] | undefined;
  #hasDates = false;

  constructor(
    /** Number of rows. */
    readonly length: number,
    readonly columns: ReadonlyMap<string, Vector>,
  ) {}

  /**
   * Returns the rows as frozen objects, since a change to them would not reach the columns. They are created once; rows with dates are
   * copied by each call, since dates cannot be frozen.
   */
  rows(): readonly Row[] {
    this.#rows ??= this.#made();
    if (!this.#hasDates) return this.#rows;
    const copy = detachedOf([...this.columns.keys()]);
    return Object.freeze(this.#rows.map((row) => Object.freeze(copy(row))));
  }

  /** Returns a separate, frozen object for one row, from 0 to before `length`. */
  row(index: number): Row {
    return Object.freeze(this.#makeRow()(valuesAt([...this.columns.values()], index).map(ownValue)));
  }

  /** @throws {Error} If there is no such column, which is a defect. */
  column(name: string): Vector {
    const vector = this.columns.get(name);
    if (!vector) throw new Error(`a batch has no column ${name}`);
    return vector;
  }

  /** Returns a column that some batches of a stream may lack; `null` in every row if this one lacks it. */
  columnOrNulls(name: string): Vector {
    return this.columns.get(name) ?? FlatVector.ofNulls(this.length);
  }

  /** Returns those of the named columns that exist, in the given order. */
  select(names: readonly string[]): RecordBatch {
    const found = names.flatMap((name) => {
      const vector = this.columns.get(name);
      return vector ? [[name, vector] as const] : [];
    });
    return new RecordBatch(this.length, new Map(found));
  }

  /** Returns the same rows with other columns: an existing column keeps its position and gets the new values, new ones are appended. */
  with(columns: Iterable<readonly [name: string, vector: Vector]>): RecordBatch {
    return new RecordBatch(this.length, new Map([...this.columns, ...columns]));
  }

  /** Returns some rows, in the given order; a row may occur more than once. */
  take(rows: readonly number[]): RecordBatch {
    const take = taking(rows);
    return new RecordBatch(rows.length, new Map(Array.from(this.columns, ([name, vector]) => [name, take(vector)])));
  }

  /** Returns the rows with these ascending indexes. If all rows stay, nothing is copied. */
  keep(rows: readonly number[]): RecordBatch {
    return rows.length === this.length ? this : this.take(rows);
  }

  /** Returns the rows whose index satisfies a condition. */
  filter(condition: (row: number) => boolean): RecordBatch {
    const kept: number[] = [];
    for (let row = 0; row < this.length; row += 1) if (condition(row)) kept.push(row);
    return this.keep(kept);
  }

  #made(): readonly Row[] {
    const make = this.#makeRow();
    const vectors = [...this.columns.values()];
    const made = Array.from({ length: this.length }, (_, row) => {
      const values = valuesAt(vectors, row);
      this.#hasDates ||= values.some((value) => value instanceof Date);
      return Object.freeze(make(values));
    });
    return Object.freeze(made);
  }

  #makeRow(): RowMaker {
    return makerOf([...this.columns.keys()]);
  }
}

function valuesAt(vectors: readonly Vector[], row: number): Value[] {
  return vectors.map((vector) => vector.value(row));
}

const makerOf = byShape(rowMaker<Value>);

const detachedOf = byShape(detachedCopier);

/**
 * Turns rows into a batch: one column for each field of any row, in order of appearance, with `null` in rows without it. Inherited
 * properties do not count as fields. Dates are copied, so later changes to them have no effect.
 */
export function batchFromRows(rows: readonly Row[]): RecordBatch {
  const names = Object.keys(rows[0] ?? {});
  const columns = rows.every((row) => hasFields(row, names)) ? columnsOf(names, rows) : columnsOfAny(rows);
  return new RecordBatch(rows.length, new Map(Array.from(columns, ([name, values]) => [name, new FlatVector(values)])));
}

/** Reads rows that all have the same fields in the same order. */
function columnsOf(names: readonly string[], rows: readonly Row[]): Iterable<readonly [string, readonly Value[]]> {
  const columns = readerOf(names)(rows);
  return columns.map((values, index) => [itemAt(names, index), values]);
}

function columnsOfAny(rows: readonly Row[]): Iterable<readonly [string, readonly Value[]]> {
  const columns = new Map<string, Value[]>();
  for (const [index, row] of rows.entries()) {
    for (const name of Object.keys(row)) {
      let values = columns.get(name);
      if (!values) columns.set(name, (values = new Array<Value>(rows.length).fill(null)));
      values[index] = ownValue(row[name] ?? null);
    }
  }
  return columns;
}

const readerOf = byShape(columnReader);

/** `for in` costs a third less than `Object.keys`. It lists inherited fields last, so if the last one is the row's own, all are. */
function hasFields(row: Row, names: readonly string[]): boolean {
  let index = 0;
  for (const name in row) {
    if (name !== names[index]) return false;
    index += 1;
  }
  const last = names.at(-1);
  return index === names.length && (last === undefined || Object.hasOwn(row, last));
}

/** A run has few sets of fields; a stream of ever-new ones must not fill the memory. */
const maxShapes = 64;

/** Caches what a function creates for a list of names: a generated function, which costs as much as many rows. */
function byShape<R>(make: (names: readonly string[]) => R): (names: readonly string[]) => R {
  const made = new Map<string, R>();
  return (names) => {
    const shape = JSON.stringify(names);
    const known = made.get(shape);
    if (known !== undefined) return known;
    if (made.size >= maxShapes) made.clear();
    const fresh = make(names);
    made.set(shape, fresh);
    return fresh;
  };
}
