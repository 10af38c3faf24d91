import { itemAt, type Value } from '../core/index.js';
import { memoOfTexts } from './memo.js';
import { DictionaryVector, FlatVector, maxDictionary, Utf8Vector, type Vector } from './vectors.js';

/** Rows after which a dictionary must have fewer values than half of them. */
const trial = 4096;

/** Rows of a block: when bytes must be moved to grow, those of one block are the most. */
const blockBits = 15;
const rowsOfBlock = 1 << blockBits;

/** Longer texts are copied by the runtime, which costs more per call and less per byte. */
const short = 32;

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

/**
 * Values of a column in the order added: texts as consecutive UTF-8, in blocks of rows. Values that such bytes cannot hold (not a text, or
 * a text with a NUL or a lone surrogate) are kept as they are.
 *
 * Memory: the bytes of the texts and four more per row; eight more per row in blocks with other values.
 */
class KeptTexts {
  readonly #blocks: Block[] = [];
  #length = 0;
  /** The texts of the page being assembled. */
  #taken = Buffer.allocUnsafeSlow(1 << 12);

  get length(): number {
    return this.#length;
  }

  append(vector: Vector): void {
    for (let row = 0; row < vector.length; row += 1) {
      const block = this.#open();
      if (vector instanceof Utf8Vector) block.copy(vector.bytes, vector.start(row), vector.end(row));
      else block.add(vector.value(row));
      this.#length += 1;
    }
  }

  value(row: number): Value {
    return this.#blockOf(row).value(row & (rowsOfBlock - 1));
  }

  /**
   * Returns the values of some rows, in the given order; `null` for a row below 0. Texts are copied, so that a page does not retain those of all rows.
   */
  take(rows: readonly number[]): Vector {
    const bounds = new Int32Array(2 * rows.length);
    let end = 0;
    for (let at = 0; at < rows.length; at += 1) {
      const row = itemAt(rows, at);
      const block = row < 0 ? undefined : this.#blockOf(row);
      const size = block?.byteLength(row & (rowsOfBlock - 1)) ?? -1;
      if (!block || size < 0) return new FlatVector(rows.map((each) => (each < 0 ? null : this.value(each))));
      if (end + size > this.#taken.length) this.#taken = longer(this.#taken, end, size);
      block.copyTo(this.#taken, end, row & (rowsOfBlock - 1));
      bounds[2 * at] = end;
      bounds[2 * at + 1] = end += size;
    }
    const bytes = Buffer.allocUnsafeSlow(end);
    bytes.set(this.#taken.subarray(0, end));
    return new Utf8Vector(bytes, bounds, 0, 2, rows.length);
  }

  #open(): Block {
    const last = this.#blocks.at(-1);
    if (last && (this.#length & (rowsOfBlock - 1)) > 0) return last;
    last?.close();
    const block = new Block();
    this.#blocks.push(block);
    return block;
  }

  #blockOf(row: number): Block {
    const block = this.#blocks[row >>> blockBits];
    if (!block || row >= this.#length) throw new Error(`there is no row ${row} of ${this.#length}`);
    return block;
  }
}

class Block {
  #length = 0;
  #bytes = Buffer.allocUnsafeSlow(1 << 12);
  readonly #ends = new Int32Array(rowsOfBlock);
  /** Values that are not stored as bytes, by row; the other rows are holes. */
  #others: Value[] | undefined;

  add(value: Value): void {
    if (typeof value === 'string' && value.isWellFormed() && !value.includes('\0')) {
      const start = this.#reserve(3 * value.length);
      this.#end(start + this.#bytes.write(value, start));
    } else {
      this.#others ??= new Array<Value>(rowsOfBlock);
      this.#others[this.#length] = value;
      this.#end(this.#reserve(0));
    }
  }

  copy(from: Buffer, start: number, end: number): void {
    const at = this.#reserve(end - start);
    copyBytes(from, start, end, this.#bytes, at);
    this.#end(at + end - start);
  }

  value(row: number): Value {
    if (this.#isOther(row)) return this.#others?.[row] ?? null;
    return this.#bytes.toString('utf8', this.#startOf(row), this.#ends[row]);
  }

  /** Returns the bytes of a row's text; -1 if it is not a text. */
  byteLength(row: number): number {
    return this.#isOther(row) ? -1 : (this.#ends[row] ?? 0) - this.#startOf(row);
  }

  copyTo(target: Buffer, at: number, row: number): void {
    copyBytes(this.#bytes, this.#startOf(row), this.#ends[row] ?? 0, target, at);
  }

  /** Frees the memory that no further row needs. */
  close(): void {
    const used = this.#startOf(this.#length);
    const bytes = Buffer.allocUnsafeSlow(used);
    bytes.set(this.#bytes.subarray(0, used));
    this.#bytes = bytes;
  }

  #isOther(row: number): boolean {
    return this.#others !== undefined && row in this.#others;
  }

  #startOf(row: number): number {
    return row === 0 ? 0 : (this.#ends[row - 1] ?? 0);
  }

  #end(end: number): void {
    this.#ends[this.#length] = end;
    this.#length += 1;
  }

  /**
   * @returns Where this many bytes fit, after all others.
   */
  #reserve(more: number): number {
    const used = this.#startOf(this.#length);
    if (used + more > this.#bytes.length) this.#bytes = longer(this.#bytes, used, more);
    return used;
  }
}

/** Returns a larger buffer with the used bytes. */
function longer(bytes: Buffer, used: number, more: number): Buffer<ArrayBuffer> {
  const grown = Buffer.allocUnsafeSlow(Math.max(2 * bytes.length, used + more));
  grown.set(bytes.subarray(0, used));
  return grown;
}

function copyBytes(from: Buffer, start: number, end: number, to: Buffer, at: number): void {
  if (end - start > short) from.copy(to, at, start, end);
  else for (let index = start; index < end; index += 1) to[at + index - start] = from[index] ?? 0;
}
