import { itemAt, type Value } from '../core/index.js';
import { FlatVector } from './flat-vector.js';
import { Utf8Vector } from './utf8-vector.js';
import type { Vector } from './vector.js';

/** Rows of a block: when bytes must be moved to grow, those of one block are the most. */
const blockBits = 15;
const rowsOfBlock = 1 << blockBits;

/** Longer texts are copied by the runtime, which costs more per call and less per byte. */
const short = 32;

/**
 * Values of a column in the order added: texts as consecutive UTF-8, in blocks of rows. Values that such bytes cannot hold (not a text, or
 * a text with a NUL or a lone surrogate) are kept as they are.
 *
 * Memory: the bytes of the texts and four more per row; eight more per row in blocks with other values.
 */
export class KeptTexts {
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
