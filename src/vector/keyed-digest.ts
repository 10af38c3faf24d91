import type { Value } from '../core/index.js';
import { memoOf } from './memo.js';
import { Utf8Vector, type Vector, viewOf } from './vectors.js';

/** A column whose values are digested. */
export interface DigestedColumn {
  /** Decides, with the secret, what its values are digested with: the order of columns does not matter. */
  readonly name: string;
  /** Returns the text that stands for a value; `null` for one that leaves the digest as it is. Default: it as a text. */
  readonly textOf?: (value: Value) => string | null;
}

/** Returns the digests of rows, two words each, from the vectors of their columns. */
export type RowDigests = (rows: number, vectors: readonly Vector[]) => Uint32Array;

/**
 * Digests rows with a secret, to find out which have changed: 64 bits, so that no change of a billion is likely to be missed, and none can
 * be crafted to be. A row's digest is the sum of those of its values that are not `null` (HalfSipHash-1-3 over the UTF-8 of a text, with a
 * key for each column), so a column that is added later, with `null`, changes nothing.
 *
 * @param subkey Derives four words from the secret and a name.
 */
export function rowDigests(columns: readonly DigestedColumn[], subkey: (name: string) => Uint32Array): RowDigests {
  const digesting = columns.map(({ name, textOf }) => digestingColumn(subkey(name), textOf));
  return (rows, vectors) => {
    const sums = new Uint32Array(2 * rows);
    for (const [index, vector] of vectors.entries()) {
      const digestAt = digesting[index]?.(vector);
      for (let row = 0; digestAt && row < rows; row += 1) {
        const digest = digestAt(row);
        sums[2 * row] = (sums[2 * row] ?? 0) + (digest[0] ?? 0);
        sums[2 * row + 1] = (sums[2 * row + 1] ?? 0) + (digest[1] ?? 0);
      }
    }
    return sums;
  };
}

type Words = ArrayLike<number>;

const nothing: Words = [0, 0];

/** Texts that arrived as bytes are digested where they are. */
function digestingColumn(key: Uint32Array, textOf?: (value: Value) => string | null): (vector: Vector) => (row: number) => Words {
  const memo = memoOf((value: Value): Words => {
    const text = textOf ? textOf(value) : value === null ? null : String(value);
    if (text === null) return nothing;
    const [low = 0, high = 0] = digestText(key, text);
    return [low, high];
  });
  return (vector) => {
    if (textOf || !(vector instanceof Utf8Vector)) return memo(vector);
    const { view } = vector;
    return (row) => digestBytes(key, view, vector.start(row), vector.end(row));
  };
}

const scratch = Buffer.alloc(4096);
const scratchView = viewOf(scratch);

function digestText(key: Uint32Array, text: string): Uint32Array {
  if (text.length * 3 <= scratch.length) return digestBytes(key, scratchView, 0, scratch.write(text));
  const bytes = Buffer.from(text);
  return digestBytes(key, viewOf(bytes), 0, bytes.length);
}

/** The last digest: a new one would be an object for each value. */
const last = new Uint32Array(2);

/**
 * HalfSipHash-1-3 with 64 bits (Aumasson and Bernstein, CC0), with all four words of its state keyed.
 *
 * @returns An array that the next call changes.
 */
function digestBytes(key: Uint32Array, view: DataView, from: number, to: number): Uint32Array {
  let v0 = key[0] ?? 0;
  let v1 = key[1] ?? 0;
  let v2 = key[2] ?? 0;
  let v3 = key[3] ?? 0;
  const words = (to - from) >>> 2;
  // Words of the text, one for its rest and length, and three rounds for each word of the result.
  for (let step = 0, at = from; step < words + 7; step += 1, at += 4) {
    let word = 0;
    if (step < words) word = view.getUint32(at, true);
    else if (step === words) {
      for (let rest = at, shift = 0; rest < to; rest += 1, shift += 8) word |= view.getUint8(rest) << shift;
      word |= (to - from) << 24;
    } else if (step === words + 1) v2 ^= 0xee;
    else if (step === words + 4) {
      last[0] = v1 ^ v3;
      v1 ^= 0xdd;
    }
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v2 = (v2 + v3) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (((v0 << 16) | (v0 >>> 16)) + v3) | 0;
    v2 = (v2 + v1) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  last[1] = v1 ^ v3;
  return last;
}
