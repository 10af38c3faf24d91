import type { RecordBatch } from './record-batch.js';
import { Utf8Vector, type Vector, viewOf } from './vectors.js';

/**
 * Returns a 32-bit digest of values, in order, to detect changed content. It is the body of MurmurHash3 (Appleby, public domain) over the
 * texts' UTF-8, four bytes at a time, with the length of each text in its last word. It has no secret, so collisions can be crafted. There
 * is no final mixing, since digests are only compared for equality.
 */
export function digestOf(values: readonly unknown[]): number {
  let sum = start;
  for (const value of values) sum = withText(sum, String(value));
  return sum >>> 0;
}

/** Returns a digest per row: the sum of its fields' that are not `null`, each seeded by its name, so in any order. */
export function digestsOf({ length, columns }: RecordBatch): Uint32Array {
  const sums = new Int32Array(length);
  const texts: Utf8Vector[] = [];
  const seeds: number[] = [];
  for (const [name, vector] of columns) {
    const seed = withText(start, name);
    if (vector instanceof Utf8Vector && vector.bounds === (texts[0] ?? vector).bounds) {
      texts.push(vector);
      seeds.push(seed);
    } else addValues(sums, vector, seed);
  }
  addTexts(sums, texts, seeds);
  return new Uint32Array(sums.buffer);
}

const start = 0x811c9dc5 | 0;

function addValues(sums: Int32Array, vector: Vector, seed: number): void {
  for (let row = 0; row < sums.length; row += 1) {
    const value = vector.value(row);
    if (value !== null) sums[row] = (sums[row] ?? 0) + withText(seed, String(value));
  }
}

/** Adds columns of one response, in the order of its bytes: column by column takes twice as long. */
function addTexts(sums: Int32Array, texts: readonly Utf8Vector[], seeds: readonly number[]): void {
  const [one] = texts;
  if (!one) return;
  const { bytes, view, bounds, stride } = one;
  const firsts = texts.map(({ first }) => first);
  const lastWord = bytes.length - 4;
  for (let row = 0, record = 0; row < sums.length; row += 1, record += stride) {
    let sum = sums[row] ?? 0;
    for (let column = 0; column < firsts.length; column += 1) {
      const at = record + (firsts[column] ?? 0);
      sum += withBytes(seeds[column] ?? 0, view, lastWord, bounds[at] ?? 0, bounds[at + 1] ?? 0);
    }
    sums[row] = sum;
  }
}

function withText(before: number, text: string): number {
  const { length } = text;
  let sum = before;
  let seen = 0;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    const a = text.charCodeAt(at);
    const b = text.charCodeAt(at + 1);
    const c = text.charCodeAt(at + 2);
    const d = text.charCodeAt(at + 3);
    seen |= a | b | c | d;
    sum = withWord(sum, a | (b << 8) | (c << 16) | (d << 24));
  }
  let last = length << 24;
  for (let shift = 0; at < length; at += 1, shift += 8) {
    const unit = text.charCodeAt(at);
    seen |= unit;
    last |= unit << shift;
  }
  return seen > 0x7f ? withEncoded(before, text) : withWord(sum, last);
}

const encoded = Buffer.alloc(4096);
const encodedView = viewOf(encoded);

/** Adds a text beyond ASCII. Lone surrogates would all be equal in UTF-8, so such texts are escaped as in JSON. */
function withEncoded(before: number, text: string): number {
  const formed = text.isWellFormed() ? text : JSON.stringify(text);
  if (formed.length * 3 <= encoded.length) return withBytes(before, encodedView, encoded.length - 4, 0, encoded.write(formed));
  const bytes = Buffer.from(formed);
  return withBytes(before, viewOf(bytes), bytes.length - 4, 0, bytes.length);
}

/** @param lastWord Offset of the last four bytes of the view, whose own length is slow to read. */
function withBytes(before: number, view: DataView, lastWord: number, from: number, to: number): number {
  const length = to - from;
  const end = from + (length & ~3);
  let sum = before;
  for (let at = from; at < end; at += 4) sum = withWord(sum, view.getInt32(at, true));
  // Also reads the bytes after the text and masks them, which is faster than a loop over the remaining ones.
  const rest = end <= lastWord ? view.getInt32(end, true) & ~(-1 << ((length & 3) << 3)) : restOf(view, end, to);
  return withWord(sum, rest | (length << 24));
}

function restOf(view: DataView, from: number, to: number): number {
  let rest = 0;
  for (let at = from, shift = 0; at < to; at += 1, shift += 8) rest |= view.getUint8(at) << shift;
  return rest;
}

function withWord(before: number, word: number): number {
  const mixed = Math.imul(word, 0xcc9e2d51);
  const sum = before ^ Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
  return (Math.imul((sum << 13) | (sum >>> 19), 5) + 0xe6546b64) | 0;
}
