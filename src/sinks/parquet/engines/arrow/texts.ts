import type { Value } from '../../../../collections/index.js';
import type { ColumnBuilder, ColumnBytes } from './column-bytes.js';
import { Validity } from './validity.js';

/** Longer texts are written by the runtime, which takes longer to call and less per character. */
const shortText = 64;

/** Values looked at to tell whether a dictionary pays, and how many of them may be different then. */
const sample = { size: 500, different: 0.8 };

/** A column of texts: UTF-8 behind one another, and where each ends. */
export class Texts implements ColumnBuilder {
  readonly #validity = new Validity();
  #offsets = new Int32Array(1);
  #data = buffer(0);
  #rows = 0;

  append(values: readonly Value[], from: number, to: number): number {
    this.#makeRoom(this.#rows + to - from);
    const offsets = this.#offsets;
    let [row, units] = [this.#rows, 0];
    let end = offsets[row] ?? 0;
    for (let index = from; index < to; index += 1) {
      const value = values[index];
      if (typeof value === 'string') {
        units += value.length;
        end = this.#write(value, end);
      } else this.#validity.setNull(row);
      row += 1;
      offsets[row] = end;
    }
    this.#rows = row;
    return units;
  }

  bytes(): ColumnBytes {
    return {
      ...this.#validity.bytes(this.#rows),
      offsets: new Uint8Array(this.#offsets.buffer, 0, (this.#rows + 1) * 4),
      data: this.#data.subarray(0, this.#offsets[this.#rows]),
      repeats: this.#repeats(),
    };
  }

  clear(): void {
    this.#validity.clear();
    this.#rows = 0;
  }

  /** Looks at every so manieth row of the group, so that the pages in which they came do not matter. */
  #repeats(): boolean {
    const step = Math.max(1, Math.floor(this.#rows / sample.size));
    const seen = new Set<string>();
    let texts = 0;
    for (let row = 0; row < this.#rows; row += step) {
      const [start, end] = [this.#offsets[row] ?? 0, this.#offsets[row + 1] ?? 0];
      if (start === end) continue;
      texts += 1;
      seen.add(this.#data.toString('latin1', start, end));
    }
    return seen.size <= texts * sample.different;
  }

  /** @returns Where the text ends. */
  #write(text: string, start: number): number {
    const { length } = text;
    if (start + length * 3 > this.#data.length) this.#grow(start, start + length * 3);
    const data = this.#data;
    if (length > shortText) return start + data.write(text, start);
    for (let index = 0; index < length; index += 1) {
      const unit = text.charCodeAt(index);
      if (unit > 0x7f) return start + data.write(text, start);
      data[start + index] = unit;
    }
    return start + length;
  }

  #makeRoom(rows: number): void {
    if (this.#offsets.length > rows) return;
    const offsets = new Int32Array(Math.max(this.#offsets.length * 2, rows + 1));
    offsets.set(this.#offsets);
    this.#offsets = offsets;
  }

  #grow(filled: number, needed: number): void {
    const data = buffer(Math.max(this.#data.length * 1.5, needed));
    data.set(this.#data.subarray(0, filled));
    this.#data = data;
  }
}

function buffer(bytes: number): Buffer<ArrayBuffer> {
  return Buffer.from(new ArrayBuffer(Math.ceil(bytes)));
}
