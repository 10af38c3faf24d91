import { itemAt, type Value } from '../core/index.js';
import { DictionaryVector, maxDictionary } from './dictionary-vector.js';
import { KeptTexts } from './kept-texts.js';
import { memoOfTexts } from './memo.js';
import { Utf8Vector } from './utf8-vector.js';
import type { Vector } from './vector.js';

/** Rows after which a dictionary must have fewer values than half of them. */
const trial = 4096;

/** Rows whose indices share one array. */
const blockBits = 16;
const rowsOfBlock = 1 << blockBits;

/**
 * The values of a column, kept for the length of a stream in the order added: in a dictionary while there are few distinct ones, else as
 * bytes. No value stays an object.
 *
 * Memory: two bytes per row and a dictionary of at most 65,536 values; else see `KeptTexts`.
 */
export class KeptColumn {
  #values: Dictionary | undefined = new Dictionary();
  #texts = new KeptTexts();

  get length(): number {
    return this.#values?.length ?? this.#texts.length;
  }

  append(vector: Vector): void {
    if (this.#values?.append(vector)) return;
    if (this.#values) this.#becomeTexts(this.#values);
    this.#texts.append(vector);
  }

  value(row: number): Value {
    return this.#values ? this.#values.value(row) : this.#texts.value(row);
  }

  /**
   * Returns the values of some rows, in the given order; `null` for a row below 0. While the column has few distinct values, all results
   * share one dictionary.
   */
  take(rows: readonly number[]): Vector {
    return this.#values ? this.#values.take(rows) : this.#texts.take(rows);
  }

  /** Frees what only `append` needs. */
  close(): void {
    this.#values?.close();
  }

  #becomeTexts(values: Dictionary): void {
    for (let from = 0; from < values.length; from += trial) {
      const count = Math.min(trial, values.length - from);
      this.#texts.append(values.take(Array.from({ length: count }, (_, at) => from + at)));
    }
    this.#values = undefined;
  }
}

/** Values by index in a dictionary whose first value is `null`. */
class Dictionary {
  readonly #values: Value[] = [null];
  readonly #blocks: Uint16Array[] = [];
  #length = 0;
  #known = new Map<string, number>();
  #ofText = memoOfTexts((text) => this.#indexOf(text));

  get length(): number {
    return this.#length;
  }

  /**
   * @returns Whether it took the values. If it cannot hold them all, or saves too little, it returns `false` and is unchanged.
   */
  append(vector: Vector): boolean {
    if (this.#length >= trial && 2 * this.#values.length > this.#length) return false;
    const indices = new Uint16Array(vector.length);
    for (let row = 0; row < vector.length; row += 1) {
      const index = vector instanceof Utf8Vector ? this.#ofText(vector, row) : this.#indexOf(vector.value(row));
      if (index < 0) return false;
      indices[row] = index;
    }
    for (const index of indices) this.#push(index);
    return true;
  }

  value(row: number): Value {
    return this.#values[this.#index(row)] ?? null;
  }

  take(rows: readonly number[]): DictionaryVector {
    const indices = new Uint16Array(rows.length);
    for (let at = 0; at < indices.length; at += 1) {
      const row = itemAt(rows, at);
      if (row >= 0) indices[at] = this.#index(row);
    }
    return new DictionaryVector(this.#values, indices);
  }

  close(): void {
    this.#known = new Map();
    this.#ofText = memoOfTexts((text) => this.#indexOf(text));
  }

  #index(row: number): number {
    const index = this.#blocks[row >>> blockBits]?.[row & (rowsOfBlock - 1)];
    if (index === undefined || row >= this.#length) throw new Error(`there is no row ${row} of ${this.#length}`);
    return index;
  }

  #push(index: number): void {
    const place = this.#length & (rowsOfBlock - 1);
    if (place === 0) this.#blocks.push(new Uint16Array(rowsOfBlock));
    itemAt(this.#blocks, this.#length >>> blockBits)[place] = index;
    this.#length += 1;
  }

  /**
   * @returns -1 if the dictionary is full, or the value is neither a text nor `null`.
   */
  #indexOf(value: Value): number {
    if (value === null) return 0;
    if (typeof value !== 'string') return -1;
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    if (this.#values.length >= maxDictionary) return -1;
    this.#known.set(value, this.#values.length);
    return this.#values.push(value) - 1;
  }
}
