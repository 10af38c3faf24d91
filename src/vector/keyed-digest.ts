import type { Value } from '../core/index.js';
import { DictionaryVector, Utf8Vector, type Vector, viewOf } from './vectors.js';

/** A column whose values are digested. */
export interface DigestedColumn {
  /** Decides, with the secret, what its values are digested with: the order of columns does not matter. */
  readonly name: string;
  /** Returns the text that stands for a value; `null` for one that leaves the digest as it is. Default: it as a text. */
  readonly textOf?: (value: Value) => string | null;
}

/**
 * Digests rows with a secret, to find out which have changed: 64 bits, so that no change of a billion is likely to be missed, and none can
 * be crafted to be. A row's digest is the sum of those of its values that are not `null` (HalfSipHash-1-3 over the UTF-8 of a text, with a
 * key for each column), so a column that is added later, with `null`, changes nothing.
 */
export class RowDigests {
  readonly #columns: readonly ColumnDigest[];

  /** @param subkey Derives four words from the secret and a name. */
  constructor(columns: readonly DigestedColumn[], subkey: (name: string) => Uint32Array) {
    this.#columns = columns.map(({ name, textOf }) => new ColumnDigest(subkey(name), textOf));
  }

  /** Returns two words per row. */
  of(rows: number, vectors: readonly Vector[]): Uint32Array {
    const sums = new Uint32Array(2 * rows);
    for (const [index, column] of this.#columns.entries()) {
      const vector = vectors[index];
      if (vector) column.addTo(sums, vector);
    }
    return sums;
  }
}

class ColumnDigest {
  /** Two words per value of a dictionary. */
  #digests = new Uint32Array(0);
  #values: readonly Value[] = [];
  #known = 0;

  constructor(
    private readonly key: Uint32Array,
    private readonly textOf: ((value: Value) => string | null) | undefined,
  ) {}

  addTo(sums: Uint32Array, vector: Vector): void {
    const rows = sums.length / 2;
    if (vector instanceof DictionaryVector) {
      this.#digestAll(vector.values);
      const { indices } = vector;
      for (let row = 0; row < rows; row += 1) {
        const at = 2 * (indices[row] ?? 0);
        low = this.#digests[at] ?? 0;
        high = this.#digests[at + 1] ?? 0;
        addLast(sums, row);
      }
    } else if (vector instanceof Utf8Vector && !this.textOf) {
      const { view } = vector;
      for (let row = 0; row < rows; row += 1) {
        digestBytes(this.key, view, vector.start(row), vector.end(row));
        addLast(sums, row);
      }
    } else for (let row = 0; row < rows; row += 1) if (this.#digest(vector.value(row))) addLast(sums, row);
  }

  /** Digests what a dictionary, which may have grown, has more than before. */
  #digestAll(values: readonly Value[]): void {
    if (values !== this.#values) this.#known = 0;
    this.#values = values;
    if (2 * values.length > this.#digests.length) {
      const digests = new Uint32Array(4 * values.length);
      digests.set(this.#digests);
      this.#digests = digests;
    }
    for (; this.#known < values.length; this.#known += 1) {
      const isCounted = this.#digest(values[this.#known] ?? null);
      this.#digests[2 * this.#known] = isCounted ? low : 0;
      this.#digests[2 * this.#known + 1] = isCounted ? high : 0;
    }
  }

  #digest(value: Value): boolean {
    const text = this.textOf ? this.textOf(value) : value === null ? null : String(value);
    if (text === null) return false;
    if (text.length * 3 > scratch.length) {
      scratch = Buffer.alloc(text.length * 4);
      scratchView = viewOf(scratch);
    }
    digestBytes(this.key, scratchView, 0, scratch.write(text));
    return true;
  }
}

let scratch = Buffer.alloc(4096);
let scratchView = viewOf(scratch);

/** The last digest: a pair would be an object for each value. */
let low = 0;
let high = 0;

function addLast(sums: Uint32Array, row: number): void {
  sums[2 * row] = (sums[2 * row] ?? 0) + low;
  sums[2 * row + 1] = (sums[2 * row + 1] ?? 0) + high;
}

/** HalfSipHash-1-3 with 64 bits (Aumasson and Bernstein, CC0), with all four words of its state keyed. */
function digestBytes(key: Uint32Array, view: DataView, from: number, to: number): void {
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
      low = v1 ^ v3;
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
  high = v1 ^ v3;
}
