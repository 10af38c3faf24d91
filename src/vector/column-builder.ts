import { hashOfBytes, type Value } from '../core/index.js';
import { encoding } from './utf8.js';
import { DictionaryVector, longer, Utf8Vector, type Vector, viewOf } from './vectors.js';

/** A column of a row group in Arrow's memory layout. */
export interface ColumnBytes {
  readonly nulls: number;
  /** One bit per row, the lowest first, set if there is a value; empty if every row has one. */
  readonly validity: Uint8Array;
  /** The end offsets of the texts, preceded by a 0, 32 bits each; empty for other types. */
  readonly offsets: Uint8Array;
  /** UTF-8, bits for flags, or little-endian numbers. */
  readonly data: Uint8Array;
  /** Whether a dictionary may save space; for texts, estimated from a sample. */
  readonly repeats: boolean;
}

/** Collects a column's values as bytes, so that no value stays an object until its row group is complete. */
export interface ColumnBuilder {
  /** Adds rows from `from` to before `to`, of the column's type or `null`. @returns The size of their text in bytes of UTF-8. */
  append(vector: Vector, from: number, to: number): number;
  /** Returns the bytes of the first rows, which the next `append` may change. */
  bytes(rows: number): ColumnBytes;
  /** Starts over with the allocated memory. */
  clear(): void;
}

/** Bits that mark the rows with a value, from the first null on. */
export class Validity {
  #bits: Uint8Array = new Uint8Array(0);

  setNull(row: number): void {
    if (row >> 3 >= this.#bits.length) this.#grow(Math.max(this.#bits.length * 2, (row >> 3) + 1024));
    this.#bits[row >> 3] = (this.#bits[row >> 3] ?? 0) & ~(1 << (row & 7));
  }

  /** Returns the number of nulls and the bits of the first rows, the lowest first; no bits without a null. */
  bytes(rows: number): Pick<ColumnBytes, 'nulls' | 'validity'> {
    let nulls = 0;
    const known = Math.min(rows, this.#bits.length * 8);
    for (let row = 0; row < known; row += 1) nulls += 1 - (((this.#bits[row >> 3] ?? 0) >> (row & 7)) & 1);
    if (nulls === 0) return { nulls, validity: new Uint8Array(0) };
    const length = (rows + 7) >> 3;
    if (length > this.#bits.length) this.#grow(length);
    return { nulls, validity: this.#bits.subarray(0, length) };
  }

  #grow(length: number): void {
    const bits = new Uint8Array(length).fill(0xff);
    bits.set(this.#bits);
    this.#bits = bits;
  }

  clear(): void {
    this.#bits.fill(0xff);
  }
}

/** The runtime writes longer texts, which costs more per call and less per character or byte. */
const short = { characters: 64, bytes: 256 };

/** Values sampled to estimate whether a dictionary saves space, and the maximum share of distinct ones. */
const sample = { size: 500, different: 0.8 };

export class Utf8Builder implements ColumnBuilder {
  readonly #validity = new Validity();
  #offsets = new Int32Array(1);
  #data = buffer(0);
  #view = viewOf(this.#data);
  #rows = 0;
  readonly #encoded = encoding((value) => (typeof value === 'string' ? value : null));

  append(vector: Vector, from: number, to: number): number {
    const start = this.#offsets[this.#rows] ?? 0;
    const rows = this.#rows + to - from;
    if (this.#offsets.length <= rows) this.#offsets = longer(this.#offsets, Math.max(this.#offsets.length * 2, rows + 1));
    const end = this.#put(vector, from, to, start);
    this.#rows = rows;
    return end - start;
  }

  bytes(rows: number): ColumnBytes {
    return {
      ...this.#validity.bytes(rows),
      offsets: new Uint8Array(this.#offsets.buffer, 0, (rows + 1) * 4),
      data: this.#data.subarray(0, this.#offsets[rows]),
      repeats: this.#repeats(rows),
    };
  }

  /** Returns the texts so far, and the end offsets, preceded by a 0; the next `append` may change them. */
  texts(): { readonly bytes: Buffer; readonly bounds: Int32Array } {
    return { bytes: this.#data, bounds: this.#offsets };
  }

  clear(): void {
    this.#validity.clear();
    this.#rows = 0;
  }

  /** Samples rows across the group at regular intervals, so that page borders do not matter. */
  #repeats(rows: number): boolean {
    const step = Math.max(1, Math.floor(rows / sample.size));
    const enough = Math.ceil(rows / step) * (1 - sample.different);
    const seen = new Set<number>();
    let texts = 0;
    for (let row = 0; row < rows && texts - seen.size <= enough; row += step) {
      const start = this.#offsets[row] ?? 0;
      const end = this.#offsets[row + 1] ?? 0;
      if (start === end) continue;
      texts += 1;
      // 30 bits, which a set stores without allocating an object.
      seen.add(hashOfBytes(this.#data, start, end) >>> 2);
    }
    return seen.size <= texts * sample.different;
  }

  /** As those that it calls, returns where the last text ends. */
  #put(vector: Vector, from: number, to: number, start: number): number {
    if (vector instanceof Utf8Vector) return this.#copy(vector, from, to, start);
    return vector instanceof DictionaryVector ? this.#copyIndexed(vector, from, to, start) : this.#encode(vector.values, from, to, start);
  }

  #copyIndexed(vector: DictionaryVector, from: number, to: number, start: number): number {
    const { bytes, view, places } = this.#encoded(vector);
    const { indices } = vector;
    const offsets = this.#offsets;
    let row = this.#rows;
    let end = start;
    for (let index = from; index < to; index += 1) {
      const place = 2 * (indices[index] ?? 0);
      const length = places[place + 1] ?? 0;
      if (length < 0) this.#validity.setNull(row);
      else {
        const begin = places[place] ?? 0;
        this.#reserve(end, length);
        if (length <= short.bytes) this.#copyWords(view, begin, length, end);
        else bytes.copy(this.#data, end, begin, begin + length);
        end += length;
      }
      row += 1;
      offsets[row] = end;
    }
    return end;
  }

  #copy({ bytes, view, bounds, first, stride }: Utf8Vector, from: number, to: number, start: number): number {
    const last = first + to * stride;
    let total = 0;
    for (let at = first + from * stride; at < last; at += stride) total += (bounds[at + 1] ?? 0) - (bounds[at] ?? 0);
    this.#reserve(start, total);
    const target = this.#view;
    const lastWord = bytes.length - 4;
    const offsets = this.#offsets;
    let row = this.#rows;
    let end = start;
    for (let at = first + from * stride; at < last; at += stride) {
      const begin = bounds[at] ?? 0;
      const length = (bounds[at + 1] ?? 0) - begin;
      // Copies up to three additional bytes, which the next text overwrites.
      if (length <= short.bytes && begin + length <= lastWord)
        for (let word = 0; word < length; word += 4) target.setInt32(end + word, view.getInt32(begin + word, true), true);
      else bytes.copy(this.#data, end, begin, begin + length);
      end += length;
      row += 1;
      offsets[row] = end;
    }
    return end;
  }

  /** Copies up to three additional bytes, which the next text overwrites. */
  #copyWords(source: DataView, begin: number, length: number, end: number): void {
    const view = this.#view;
    for (let at = 0; at < length; at += 4) view.setInt32(end + at, source.getInt32(begin + at, true), true);
  }

  #encode(values: readonly Value[], from: number, to: number, start: number): number {
    const offsets = this.#offsets;
    let row = this.#rows;
    let end = start;
    for (let index = from; index < to; index += 1) {
      const value = values[index];
      if (typeof value === 'string') end += this.#write(value, end);
      else this.#validity.setNull(row);
      row += 1;
      offsets[row] = end;
    }
    return end;
  }

  #write(text: string, start: number): number {
    const { length } = text;
    this.#reserve(start, length * 3);
    const data = this.#data;
    if (length > short.characters) return data.write(text, start);
    for (let index = 0; index < length; index += 1) {
      const unit = text.charCodeAt(index);
      if (unit > 0x7f) return data.write(text, start);
      data[start + index] = unit;
    }
    return length;
  }

  /** Makes room for `more` bytes, and for the rest of their last word. */
  #reserve(filled: number, more: number): void {
    const needed = filled + more + 3;
    if (needed <= this.#data.length) return;
    const data = buffer(Math.max(this.#data.length * 1.5, needed));
    data.set(this.#data.subarray(0, filled));
    this.#data = data;
    this.#view = viewOf(data);
  }
}

function buffer(bytes: number): Buffer<ArrayBuffer> {
  return Buffer.from(new ArrayBuffer(Math.ceil(bytes)));
}
