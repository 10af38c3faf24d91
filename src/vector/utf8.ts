import type { Value } from '../core/index.js';
import { type DictionaryVector, longer, perDictionary, type Utf8Vector, viewOf } from './vectors.js';

/**
 * A buffer of UTF-8 for many small pieces, as large as the longest text so far. A text of plain ASCII, as nearly all are, costs a loop over
 * its characters, and a text of bytes one over groups of four: no garbage is created.
 */
export class Utf8 {
  #bytes = new Uint8Array(1 << 16);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  code(code: number): void {
    this.#reserve(1);
    this.#bytes[this.#length] = code;
    this.#length += 1;
  }

  piece({ bytes, length }: Piece): void {
    this.#words(bytes, 0, length);
  }

  encoded({ view, places }: EncodedValues, index: number): void {
    this.#words(view, places[2 * index] ?? 0, places[2 * index + 1] ?? 0);
  }

  /** Appends any text. Lone surrogates become U+FFFD. */
  text(text: string): void {
    this.#reserve(3 * text.length);
    this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written;
  }

  /** Appends a text of plain ASCII only. @returns Whether it is; otherwise, nothing was appended. */
  plain(text: string, { table }: PlainBytes): boolean {
    this.#reserve(text.length);
    const [bytes, start] = [this.#bytes, this.#length];
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code > 0x7f || table[code] !== 1) return false;
      bytes[start + index] = code;
    }
    this.#length = start + text.length;
    return true;
  }

  /** Appends a row's text of plain bytes only. @returns Whether it is; otherwise, nothing was appended. */
  bytes(texts: Utf8Vector, row: number, plain: PlainBytes): boolean {
    const from = texts.view;
    const start = texts.start(row);
    const end = texts.end(row);
    this.#reserve(end - start);
    const { first, second, third } = plain;
    // The last word may reach past the text, but not past its buffer.
    if (first === 0 || end + word > from.byteLength) return this.#bytewise(from, start, end, plain);
    const view = this.#view;
    let length = this.#length;
    for (let at = start; at < end; at += word) {
      const given = from.getInt32(at, true);
      const four = end - at < word ? given | (behind[end - at] ?? 0) : given;
      // Borrows reach the top bit of a byte from 0 to 127 if it is zero, below 0x20, or follows a byte for which this holds.
      const borrows = ((four ^ first) - ones) | ((four ^ second) - ones) | ((four ^ third) - ones) | (four - spaces);
      if ((borrows & ~four & tops) !== 0) return this.#bytewise(from, start, end, plain);
      view.setInt32(length, given, true);
      length += word;
    }
    this.#length += end - start;
    return true;
  }

  /** Returns a copy of what was appended since this last returned something; nothing for fewer bytes than `least`. */
  take(least = 0): Uint8Array {
    if (this.#length < least) return new Uint8Array(0);
    const copy = Buffer.allocUnsafe(this.#length);
    copy.set(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return copy;
  }

  /** Appends bytes that are followed by others, which fill the last word. */
  #words(from: DataView, start: number, length: number): void {
    this.#reserve(length);
    const [view, end] = [this.#view, this.#length];
    for (let at = 0; at < length; at += word) view.setInt32(end + at, from.getInt32(start + at, true), true);
    this.#length = end + length;
  }

  #bytewise(from: DataView, start: number, end: number, { table }: PlainBytes): boolean {
    const [bytes, length] = [this.#bytes, this.#length];
    for (let at = start; at < end; at += 1) {
      const byte = from.getUint8(at);
      if (table[byte] !== 1) return false;
      bytes[length + at - start] = byte;
    }
    this.#length = length + end - start;
    return true;
  }

  /** Makes room for `more` bytes, and for the rest of their last word. */
  #reserve(more: number): void {
    const needed = this.#length + more + word;
    if (needed <= this.#bytes.length) return;
    const bytes = longer(this.#bytes, 2 * needed);
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}

/** UTF-8 to append, followed by bytes that fill the last word; `length` excludes them. */
export interface Piece {
  readonly bytes: DataView;
  readonly length: number;
}

export function pieceOf(text: string): Piece {
  const bytes = encoder.encode(text);
  const padded = new Uint8Array(bytes.length + word);
  padded.set(bytes);
  return { bytes: new DataView(padded.buffer), length: bytes.length };
}

export interface PlainBytes {
  readonly table: Uint8Array;
  /** ASCII characters that are printable but not plain, each repeated four times; 0 if the table must be used. */
  readonly first: number;
  readonly second: number;
  readonly third: number;
}

/** @param odd Matches the ASCII characters that are not plain. @param beyondAscii Whether the other characters are. */
export function plainBytes(odd: RegExp, beyondAscii: boolean): PlainBytes {
  const table = Uint8Array.from({ length: 256 }, (_, code) => Number(code < 128 ? !odd.test(String.fromCharCode(code)) : beyondAscii));
  const printable = [...table.keys()].filter((code) => code >= 0x20 && code < 128 && table[code] === 0);
  const [first = 0x22, second = first, third = second] = printable;
  return { table, first: beyondAscii && printable.length <= 3 ? first * ones : 0, second: second * ones, third: third * ones };
}

const word = 4;
const ones = 0x01010101;
const spaces = 0x20202020;
const tops = ~0x7f7f7f7f;
/** By the number of bytes of a word that belong to a text: bits that make the other bytes non-characters. */
const behind = Int32Array.of(-1, ~0xff, ~0xffff, ~0xffffff);

const encoder = new TextEncoder();

/** Encodes each used dictionary value once. Memory: the bytes of the distinct texts of the latest dictionary. */
export function encoding(textOf: (value: Value) => string | null): (vector: DictionaryVector) => EncodedValues {
  return perDictionary(
    () => new EncodedValues(),
    (encoded, value, index) => encoded.put(index, textOf(value)),
  );
}

/** The UTF-8 of values by index, each followed by at least a word of readable bytes. Equal texts are stored once. */
class EncodedValues {
  /** By index, the start offset and length of its bytes; the length is -1 without a text. */
  places = new Int32Array(512);
  bytes = Buffer.alloc(4096);
  view = viewOf(this.bytes);
  readonly #known = new Map<string, number>();
  #end = 0;

  /** Lone surrogates become U+FFFD. */
  put(index: number, text: string | null): void {
    const at = 2 * index;
    if (at >= this.places.length) this.places = longer(this.places, 2 * at + 2);
    const known = text === null ? undefined : this.#known.get(text);
    this.places[at] = known === undefined ? this.#end : (this.places[known] ?? 0);
    this.places[at + 1] = known === undefined ? this.#write(text) : (this.places[known + 1] ?? 0);
    if (text !== null && known === undefined) this.#known.set(text, at);
  }

  #write(text: string | null): number {
    if (text === null) return -1;
    const needed = this.#end + text.length * 3 + word;
    if (needed > this.bytes.length) {
      const bytes = Buffer.alloc(2 * needed);
      bytes.set(this.bytes);
      this.bytes = bytes;
      this.view = viewOf(bytes);
    }
    const length = this.bytes.write(text, this.#end);
    this.#end += length;
    return length;
  }
}
