import type { Value } from '../core/index.js';

/** A column of a batch: texts as received, values in a dictionary if few are distinct, or single values. */
export type Vector = Utf8Vector | DictionaryVector | FlatVector;

/**
 * A column of texts as the service sent them: UTF-8 in a response's bytes; only a requested text becomes a string. All texts are valid, so
 * none has a lone surrogate, and none has a NUL; a page with such a text is not read this way.
 */
export class Utf8Vector {
  #view: DataView | undefined;

  /** @param bounds Where each text begins and ends in the bytes: two offsets per row, from `first` on, `stride` apart from row to row. */
  constructor(
    readonly bytes: Buffer,
    readonly bounds: Int32Array,
    readonly first: number,
    readonly stride: number,
    readonly length: number,
  ) {}

  get view(): DataView {
    return (this.#view ??= viewOf(this.bytes));
  }

  start(row: number): number {
    return this.bounds[this.first + row * this.stride] ?? 0;
  }

  end(row: number): number {
    return this.bounds[this.first + row * this.stride + 1] ?? 0;
  }

  value(row: number): string {
    const start = this.start(row);
    const end = this.end(row);
    return start === end ? '' : this.bytes.toString('utf8', start, end);
  }

  isEmpty(row: number): boolean {
    return this.start(row) === this.end(row);
  }

  byteLength(row: number): number {
    return this.end(row) - this.start(row);
  }

  toArray(): readonly string[] {
    return Array.from({ length: this.length }, (_, row) => this.value(row));
  }

  take(rows: readonly number[]): Utf8Vector {
    const bounds = new Int32Array(2 * rows.length);
    rows.forEach((row, index) => {
      bounds[2 * index] = this.start(row);
      bounds[2 * index + 1] = this.end(row);
    });
    return new Utf8Vector(this.bytes, bounds, 0, 2, rows.length);
  }
}

/** The maximum number of values in a dictionary, which keeps caches by index small. */
export const maxDictionary = 65_536;

abstract class ValuesVector {
  abstract value(row: number): Value;

  isEmpty(row: number): boolean {
    return this.value(row) === null || this.value(row) === '';
  }

  /** Returns the bytes of a row's text in UTF-8; 0 for anything but a text. */
  byteLength(row: number): number {
    const value = this.value(row);
    return typeof value === 'string' ? Buffer.byteLength(value) : 0;
  }
}

/**
 * A column of few distinct values: a dictionary of at most `maxDictionary`, and for each row the index of its value. Batches of a run share
 * a dictionary, which may grow while they use it; results cached for an index stay valid for it. Columns that share their indices repeat in
 * the same rows: where one has the same value again, so has the other.
 */
export class DictionaryVector extends ValuesVector {
  constructor(
    readonly values: readonly Value[],
    readonly indices: Uint16Array,
  ) {
    super();
  }

  get length(): number {
    return this.indices.length;
  }

  value(row: number): Value {
    const index = this.indices[row];
    return index === undefined ? null : (this.values[index] ?? null);
  }

  toArray(): readonly Value[] {
    return Array.from(this.indices, (index) => this.values[index] ?? null);
  }

  take(rows: readonly number[]): DictionaryVector {
    return new DictionaryVector(this.values, takeIndices(this.indices, rows));
  }
}

/** A column of single values: computed from texts, or not received as bytes. */
export class FlatVector extends ValuesVector {
  constructor(readonly values: readonly Value[]) {
    super();
  }

  static ofNulls(length: number): FlatVector {
    return new FlatVector(new Array<null>(length).fill(null));
  }

  get length(): number {
    return this.values.length;
  }

  value(row: number): Value {
    return this.values[row] ?? null;
  }

  toArray(): readonly Value[] {
    return this.values;
  }

  take(rows: readonly number[]): FlatVector {
    return new FlatVector(rows.map((row) => this.values[row] ?? null));
  }
}

/** Returns a function that takes rows out of columns; columns that share their indices still do. */
export function taking(rows: readonly number[]): (vector: Vector) => Vector {
  const known = new Map<Uint16Array, Uint16Array>();
  return (vector) => {
    if (!(vector instanceof DictionaryVector)) return vector.take(rows);
    const indices = known.get(vector.indices) ?? takeIndices(vector.indices, rows);
    known.set(vector.indices, indices);
    return new DictionaryVector(vector.values, indices);
  };
}

/** Returns the first value of a column that is neither a text nor `null`, if any. Columns of bytes have only texts: no search. */
export function firstOtherThanText(vector: Vector): Value | undefined {
  if (vector instanceof Utf8Vector) return undefined;
  for (let row = 0; row < vector.length; row += 1) {
    const value = vector.value(row);
    if (value !== null && typeof value !== 'string') return value;
  }
  return undefined;
}

function takeIndices(indices: Uint16Array, rows: readonly number[]): Uint16Array {
  // `Uint16Array.from` takes ten times as long.
  const taken = new Uint16Array(rows.length);
  for (let at = 0; at < taken.length; at += 1) taken[at] = indices[rows[at] ?? 0] ?? 0;
  return taken;
}

/** Computes something about the values of a dictionary, each once, in their order, and keeps it for the latest dictionary. */
export function perDictionary<S>(begin: () => S, add: (found: S, value: Value, index: number) => void): (vector: DictionaryVector) => S {
  let known: readonly Value[] | undefined;
  let done = 0;
  let found = begin();

  return ({ values }) => {
    if (values !== known) [known, done, found] = [values, 0, begin()];
    for (; done < values.length; done += 1) add(found, values[done] ?? null, done);
    return found;
  };
}

export function longer(array: Uint8Array, length: number): Uint8Array<ArrayBuffer>;
export function longer(array: Int32Array, length: number): Int32Array<ArrayBuffer>;
export function longer(array: Int32Array | Uint8Array, length: number): Int32Array | Uint8Array {
  const made = array instanceof Int32Array ? new Int32Array(length) : new Uint8Array(length);
  made.set(array);
  return made;
}

export function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}
