import { copier, detachedCopier, ownValue, type Copier } from './copier.js';
import type { Row, Value } from '../core/index.js';
import { byShape } from './by-shape.js';
import { FlatVector } from './flat-vector.js';
import { taking, type Vector } from './vector.js';

/**
 * Rows as columns, in the order in which a row has its fields. Most texts are left alone from the answer to the file; rows are made
 * when somebody asks for them.
 */
export class RecordBatch {
  /** No rows, and no columns. */
  static readonly empty = new RecordBatch(0, new Map());
  #rows: readonly Row[] | undefined;
  #hasDates = false;

  constructor(
    /** Rows. */
    readonly length: number,
    readonly columns: ReadonlyMap<string, Vector>,
  ) {}

  /**
   * The rows as objects, frozen: a change would reach nobody who reads the columns. They are made once; since nothing freezes a date, each call
   * copies rows that have some.
   */
  rows(): readonly Row[] {
    this.#rows ??= this.#made();
    if (!this.#hasDates) return this.#rows;
    const copy = detachedOf([...this.columns.keys()]);
    return Object.freeze(this.#rows.map((row) => Object.freeze(copy(row))));
  }

  /** One row as an object of its own, frozen too, from 0 to before `length`. */
  row(index: number): Row {
    return Object.freeze(this.#copier()({}, valuesAt([...this.columns.values()], index).map(ownValue)));
  }

  /** @throws {Error} When there is no such column, which is a defect. */
  column(name: string): Vector {
    const vector = this.columns.get(name);
    if (!vector) throw new Error(`a batch has no column ${name}`);
    return vector;
  }

  /** A column that some batches of a stream may lack; `null` throughout where this one does. */
  columnOrNulls(name: string): Vector {
    return this.columns.get(name) ?? FlatVector.ofNulls(this.length);
  }

  /** About how many bytes of memory the columns take. What several of them share counts once; a shared dictionary does not. */
  byteLength(): number {
    const shared = new Set<object>();
    let bytes = 0;
    for (const vector of this.columns.values()) bytes += vector.memory(shared);
    return bytes;
  }

  /** Some of the columns, in the order given; those that it has. */
  select(names: readonly string[]): RecordBatch {
    const found = names.flatMap((name) => {
      const vector = this.columns.get(name);
      return vector ? [[name, vector] as const] : [];
    });
    return new RecordBatch(this.length, new Map(found));
  }

  /** The same rows with other columns: one that exists keeps its place and gets the new values, the others come behind. */
  with(columns: Iterable<readonly [name: string, vector: Vector]>): RecordBatch {
    return new RecordBatch(this.length, new Map([...this.columns, ...columns]));
  }

  /** Some rows, in the order given; the same row may come more than once. */
  take(rows: readonly number[]): RecordBatch {
    const take = taking(rows);
    return new RecordBatch(rows.length, new Map(Array.from(this.columns, ([name, vector]) => [name, take(vector)])));
  }

  /** The rows with these indexes, which ascend. When all stay, nothing is copied. */
  keep(rows: readonly number[]): RecordBatch {
    return rows.length === this.length ? this : this.take(rows);
  }

  /** The rows whose index satisfies a condition. */
  filter(condition: (row: number) => boolean): RecordBatch {
    const kept: number[] = [];
    for (let row = 0; row < this.length; row += 1) if (condition(row)) kept.push(row);
    return this.keep(kept);
  }

  #made(): readonly Row[] {
    const copy = this.#copier();
    const vectors = [...this.columns.values()];
    const made = Array.from({ length: this.length }, (_, row) => {
      const values = valuesAt(vectors, row);
      this.#hasDates ||= values.some((value) => value instanceof Date);
      return Object.freeze(copy({}, values));
    });
    return Object.freeze(made);
  }

  #copier(): Copier {
    return copierOf([...this.columns.keys()]);
  }
}

function valuesAt(vectors: readonly Vector[], row: number): Value[] {
  return vectors.map((vector) => vector.value(row));
}

const copierOf = byShape((names): Copier => copier(new Map(names.map((name, index) => [name, index]))));

const detachedOf = byShape(detachedCopier);
