import { itemAt, type Value } from '../core/index.js';
import { Utf8Builder } from './column-builder.js';
import { memoOfTexts } from './memo.js';
import { DictionaryVector, FlatVector, maxDictionary, Utf8Vector, type Vector } from './vectors.js';

/** Rows after which a dictionary must have fewer values than half of them. */
const trial = 4096;

/** Rows of a block, which bounds the bytes that growing moves. */
const blockBits = 15;
const rowsOfBlock = 1 << blockBits;

/** The runtime copies longer texts, which costs more per call and less per byte. */
const short = 32;

/** A column's values in the order added: a dictionary and two bytes per row while few are distinct, else as `KeptTexts`. */
export class KeptColumn {
  #values: Dictionary | undefined = new Dictionary();
  readonly #texts = new KeptTexts();

  append(vector: Vector): void {
    if (this.#values?.append(vector)) return;
    const { length } = this.#values ?? { length: 0 };
    for (let from = 0; from < length; from += trial) {
      const rows = Array.from({ length: Math.min(trial, length - from) }, (_, at) => from + at);
      if (this.#values) this.#texts.append(this.#values.take(rows));
    }
    this.#values = undefined;
    this.#texts.append(vector);
  }

  value(row: number): Value {
    return (this.#values ?? this.#texts).value(row);
  }

  /** Returns the values of some rows, in that order; `null` for a row below 0. While they are few, all results share a dictionary. */
  take(rows: readonly number[]): Vector {
    return (this.#values ?? this.#texts).take(rows);
  }

  /** Frees what only `append` needs. */
  close(): void {
    this.#values?.close();
  }
}

/** Values by index in a dictionary whose first value is `null`. */
class Dictionary {
  readonly #values: Value[] = [null];
  readonly #blocks: Uint16Array[] = [];
  length = 0;
  #known = new Map<string, number>();
  #ofText = memoOfTexts((text) => this.#indexOf(text));

  /** @returns Whether it took the values: if it cannot hold them all, or saves too little, it is unchanged. */
  append(vector: Vector): boolean {
    if (this.length >= trial && 2 * this.#values.length > this.length) return false;
    const indices = new Uint16Array(vector.length);
    for (let row = 0; row < vector.length; row += 1) {
      const index = vector instanceof Utf8Vector ? this.#ofText(vector, row) : this.#indexOf(vector.value(row));
      if (index < 0) return false;
      indices[row] = index;
    }
    for (const index of indices) {
      const place = this.length & (rowsOfBlock - 1);
      if (place === 0) this.#blocks.push(new Uint16Array(rowsOfBlock));
      itemAt(this.#blocks, this.length >>> blockBits)[place] = index;
      this.length += 1;
    }
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
    if (index === undefined || row >= this.length) throw new Error(`there is no row ${row} of ${this.length}`);
    return index;
  }

  /** @returns -1 if the dictionary is full, or the value is neither a text nor `null`. */
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

/** Values of consecutive rows: texts, and by row what bytes cannot hold; other rows are holes. */
interface Block {
  readonly bytes: Buffer;
  /** Where the texts begin, and the last one ends. */
  readonly bounds: Int32Array;
  readonly others: readonly Value[] | undefined;
}

/**
 * A column's values in the order added: texts as UTF-8, in blocks of rows. Values that such bytes cannot hold (not a text, or a text with a
 * NUL or a lone surrogate) are kept as they are. Memory: the bytes of the texts and four more per row; eight more per row in blocks with
 * other values.
 */
class KeptTexts {
  /** The texts of the last one are in the builder. */
  readonly #blocks: Block[] = [];
  readonly #builder = new Utf8Builder();
  #others: Value[] | undefined;
  #length = 0;
  #page = Buffer.allocUnsafeSlow(1 << 12);

  append(vector: Vector): void {
    for (let from = 0; from < vector.length;) {
      const place = this.#length & (rowsOfBlock - 1);
      if (place === 0) this.#closeLast();
      const to = Math.min(vector.length, from + rowsOfBlock - place);
      if (!(vector instanceof Utf8Vector)) this.#keepOthers(vector, from, to, place);
      this.#builder.append(vector, from, to);
      this.#blocks[this.#length >>> blockBits] = { ...this.#builder.texts(), others: this.#others };
      this.#length += to - from;
      from = to;
    }
  }

  value(row: number): Value {
    const { bytes, bounds, others } = this.#blockOf(row);
    const at = row & (rowsOfBlock - 1);
    return others !== undefined && at in others ? (others[at] ?? null) : bytes.toString('utf8', bounds[at], bounds[at + 1]);
  }

  /** As `KeptColumn.take`. Texts are copied, so that a page does not retain all rows'. */
  take(rows: readonly number[]): Vector {
    const ends = new Int32Array(rows.length + 1);
    let end = 0;
    for (let index = 0; index < rows.length; index += 1) {
      const row = itemAt(rows, index);
      const at = row & (rowsOfBlock - 1);
      const block = row < 0 ? undefined : this.#blockOf(row);
      if (!block || (block.others !== undefined && at in block.others))
        return new FlatVector(rows.map((each) => (each < 0 ? null : this.value(each))));
      const { bytes, bounds } = block;
      const start = bounds[at] ?? 0;
      const size = (bounds[at + 1] ?? 0) - start;
      if (end + size > this.#page.length) this.#page = Buffer.concat([this.#page], 2 * (end + size));
      copyBytes(bytes, start, start + size, this.#page, end);
      ends[index + 1] = end += size;
    }
    const bytes = Buffer.allocUnsafeSlow(end);
    bytes.set(this.#page.subarray(0, end));
    return new Utf8Vector(bytes, ends, 0, 1, rows.length);
  }

  #keepOthers(vector: Vector, from: number, to: number, place: number): void {
    for (let row = from; row < to; row += 1) {
      const value = vector.value(row);
      if (typeof value === 'string' && value.isWellFormed() && !value.includes('\0')) continue;
      this.#others ??= new Array<Value>(rowsOfBlock);
      this.#others[place + row - from] = value;
    }
  }

  /** Copies the last block, which is full, out of the builder. */
  #closeLast(): void {
    const last = this.#blocks.pop();
    if (!last) return;
    const bounds = last.bounds.slice(0, rowsOfBlock + 1);
    const bytes = Buffer.allocUnsafeSlow(itemAt(bounds, rowsOfBlock));
    bytes.set(last.bytes.subarray(0, bytes.length));
    this.#blocks.push({ bytes, bounds, others: last.others });
    this.#builder.clear();
    this.#others = undefined;
  }

  #blockOf(row: number): Block {
    const block = this.#blocks[row >>> blockBits];
    if (!block || row >= this.#length) throw new Error(`there is no row ${row} of ${this.#length}`);
    return block;
  }
}

function copyBytes(from: Buffer, start: number, end: number, to: Buffer, at: number): void {
  if (end - start > short) from.copy(to, at, start, end);
  else for (let index = start; index < end; index += 1) to[at + index - start] = from[index] ?? 0;
}
