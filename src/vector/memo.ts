import { hashOfBytes, type Value } from '../core/index.js';
import { DictionaryVector, FlatVector, longer, maxDictionary, perDictionary, Utf8Vector, type Vector } from './vectors.js';

/** Longer texts rarely repeat. */
const longest = 64;

/**
 * Caches a function's results for texts by their bytes: a repeated text creates no string. If few texts of a column repeat, it stops
 * looking them up. Memory: `most` texts of at most 64 bytes and their results; beyond that, it starts over.
 */
export function memoOfTexts<R>(find: (text: string) => R, most = 65_536): (texts: Utf8Vector, row: number) => R {
  let known = new Known<R>();
  let lookups = 0;
  let pays = true;

  return (texts, row) => {
    if (!pays || texts.byteLength(row) > longest) return find(texts.value(row));
    lookups += 1;
    const index = known.indexOf(texts, row);
    if (index >= 0) return known.found[index] as R;
    const found = find(texts.value(row));
    if (known.found.length >= most) {
      pays = lookups > 2 * most;
      lookups = 0;
      known = new Known();
    }
    known.add(texts, row, found);
    return found;
  };
}

/** Caches a function's results for texts by their bytes (see `memoOfTexts`) and for a dictionary by index, but not for other values. */
export function memoOf<R>(find: (value: Value) => R): (vector: Vector) => (row: number) => R {
  const ofText = memoOfTexts(find);
  const ofDictionary = memoByIndex(([value]: readonly Value[]) => find(value ?? null));
  return (vector) => {
    if (vector instanceof Utf8Vector) return (row) => ofText(vector, row);
    if (vector instanceof DictionaryVector) return ofDictionary([vector]);
    return (row) => find(vector.value(row));
  };
}

/** Caches a function's results but `undefined` by index for columns that share their indices, while their dictionaries stay the same. */
export function memoByIndex<R>(find: (values: readonly Value[]) => R): (columns: readonly DictionaryVector[]) => (row: number) => R {
  let dictionaries: readonly (readonly Value[])[] = [];
  let known: (R | undefined)[] = [];

  return (columns) => {
    if (columns.some(({ values }, at) => values !== dictionaries[at])) {
      dictionaries = columns.map(({ values }) => values);
      known = [];
    }
    const [first] = columns;
    const found = known;
    while (first && found.length < first.values.length) found.push(undefined);
    return (row) => {
      const index = first?.indices[row] ?? 0;
      const earlier = found[index];
      if (earlier !== undefined) return earlier;
      const now = find(columns.map(({ values }) => values[index] ?? null));
      found[index] = now;
      return now;
    };
  };
}

/** Maximum bytes of a dictionary's texts, which a page may exceed. */
const maxBytes = 1 << 22;

/** Replaces columns of repeated texts by dictionaries, by page. Memory: a dictionary of at most 4 MiB and a page of texts. */
export function dictionaryEncoder(): (vector: Vector) => Vector {
  let known = new Known<Value>();
  let lookups = 0;
  let pays = true;

  /** @returns `undefined` if the dictionary is full. */
  function indicesIn(texts: Utf8Vector): Uint16Array | undefined {
    if (known.size > maxBytes) return undefined;
    const indices = new Uint16Array(texts.length);
    for (let row = 0; row < texts.length; row += 1) {
      const index = known.indexOf(texts, row);
      indices[row] = index < 0 ? known.found.length : index;
      if (index >= 0) continue;
      if (known.found.length >= maxDictionary) return undefined;
      known.add(texts, row, texts.value(row));
    }
    return indices;
  }

  function indicesAnew(texts: Utf8Vector): Uint16Array | undefined {
    pays = lookups > 2 * known.found.length;
    lookups = 0;
    known = new Known();
    return pays ? indicesIn(texts) : undefined;
  }

  return (vector) => {
    if (!(vector instanceof Utf8Vector) || !pays || vector.length > maxDictionary) return vector;
    lookups += vector.length;
    const indices = indicesIn(vector) ?? indicesAnew(vector);
    return indices ? new DictionaryVector(known.found, indices) : vector;
  };
}

/** A hash table of texts by their bytes: open addressing, at most half full. */
class Known<R> {
  readonly found: R[] = [];
  /** Two numbers per slot: the index of an entry plus one, or 0 if the slot is free, and its hash. */
  #slots = new Int32Array(64);
  #ends = new Int32Array(17);
  #bytes = new Uint8Array(256);

  /** In bytes. */
  get size(): number {
    return this.#ends[this.found.length] ?? 0;
  }

  /** @returns -1 if the text is unknown. */
  indexOf(texts: Utf8Vector, row: number): number {
    const { bytes } = texts;
    const start = texts.start(row);
    const end = texts.end(row);
    const hash = hashOf(bytes, start, end);
    const slots = this.#slots;
    const mask = slots.length - 2;
    for (let at = (2 * hash) & mask; ; at = (at + 2) & mask) {
      const entry = (slots[at] ?? 0) - 1;
      if (entry < 0 || (slots[at + 1] === hash && this.#is(entry, bytes, start, end))) return entry;
    }
  }

  add(texts: Utf8Vector, row: number, found: R): void {
    const { bytes } = texts;
    const start = texts.start(row);
    const end = texts.end(row);
    const entry = this.found.length;
    if (4 * (entry + 1) > this.#slots.length) this.#placeAnew();
    if (entry + 1 >= this.#ends.length) this.#ends = longer(this.#ends, 2 * this.#ends.length);
    const from = this.#ends[entry] ?? 0;
    const to = from + end - start;
    if (to > this.#bytes.length) this.#bytes = longer(this.#bytes, Math.max(2 * this.#bytes.length, to));
    for (let at = start; at < end; at += 1) this.#bytes[from + at - start] = bytes[at] ?? 0;
    this.#ends[entry + 1] = to;
    this.found.push(found);
    this.#place(entry, hashOf(bytes, start, end));
  }

  #is(entry: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = this.#ends[entry] ?? 0;
    if ((this.#ends[entry + 1] ?? 0) - from !== end - start) return false;
    for (let at = start; at < end; at += 1) if (this.#bytes[from + at - start] !== bytes[at]) return false;
    return true;
  }

  #place(entry: number, hash: number): void {
    const slots = this.#slots;
    const mask = slots.length - 2;
    let at = (2 * hash) & mask;
    while (slots[at] !== 0) at = (at + 2) & mask;
    slots[at] = entry + 1;
    slots[at + 1] = hash;
  }

  #placeAnew(): void {
    const slots = this.#slots;
    this.#slots = new Int32Array(2 * slots.length);
    for (let at = 0; at < slots.length; at += 2) if (slots[at] !== 0) this.#place((slots[at] ?? 0) - 1, slots[at + 1] ?? 0);
  }
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  const hash = hashOfBytes(bytes, start, end);
  // The low bits choose the slot, but depend little on the last bytes.
  return hash ^ (hash >>> 15);
}

export class Unfit {
  constructor(readonly reason: string) {}
}

/** The result of mapping a column: `null` where a value did not fit, and why it did not; `undefined` if all did. */
export interface Mapped {
  readonly vector: Vector;
  readonly unfit: ((row: number) => string | undefined) | undefined;
}

interface MappingOptions {
  /** A fast path for some texts, by their bytes; `undefined` where it does not apply. */
  readonly quick?: ((texts: Utf8Vector, row: number) => Value | undefined) | undefined;
  /** Whether texts received as bytes stay unchanged. Default false. */
  readonly keepsBytes?: boolean;
  /** As in `memoOfTexts`. */
  readonly most?: number | undefined;
}

/** Maps a column's values by batch: each dictionary value once, and each text once while it is cached (see `memoOfTexts`). */
export function mapping(
  find: (value: Value) => Value | Unfit,
  { quick, keepsBytes = false, most }: MappingOptions = {},
): (vector: Vector) => Mapped {
  const ofText = memoOfTexts(find, most);
  const ofDictionary = perDictionary(
    () => new Outcomes([]),
    (outcomes, value, index) => outcomes.put(index, find(value)),
  );

  function mapTexts(texts: Utf8Vector): Mapped {
    const outcomes = new Outcomes(new Array<Value>(texts.length));
    for (let row = 0; row < texts.length; row += 1) {
      const quickly = quick?.(texts, row);
      if (quickly === undefined) outcomes.put(row, ofText(texts, row));
      else outcomes.values[row] = quickly;
    }
    return outcomes.mapped();
  }

  function mapDictionary(vector: DictionaryVector): Mapped {
    let outcomes: Outcomes;
    try {
      outcomes = ofDictionary(vector);
    } catch {
      // The failure belongs to a row, after the unfit values of earlier rows.
      return mappedFrom(vector.toArray(), find);
    }
    const { values, reasons } = outcomes;
    return {
      vector: new DictionaryVector(values, vector.indices),
      unfit: reasons.size === 0 ? undefined : (row) => reasons.get(vector.indices[row] ?? 0),
    };
  }

  return (vector) => {
    if (vector instanceof DictionaryVector) return mapDictionary(vector);
    if (vector instanceof FlatVector) return mappedFrom(vector.values, find);
    return keepsBytes ? { vector, unfit: undefined } : mapTexts(vector);
  };
}

export function mappedFrom<T>(items: readonly T[], find: (item: T) => Value | Unfit): Mapped {
  const outcomes = new Outcomes(new Array<Value>(items.length));
  for (const [row, item] of items.entries()) outcomes.put(row, find(item));
  return outcomes.mapped();
}

class Outcomes {
  readonly reasons = new Map<number, string>();

  constructor(readonly values: Value[]) {}

  put(place: number, outcome: Value | Unfit): void {
    const isUnfit = outcome instanceof Unfit;
    if (isUnfit) this.reasons.set(place, outcome.reason);
    // Indices of a dictionary that were not seen yet.
    while (this.values.length < place) this.values.push(null);
    this.values[place] = isUnfit ? null : outcome;
  }

  mapped(): Mapped {
    const { values, reasons } = this;
    return { vector: new FlatVector(values), unfit: reasons.size === 0 ? undefined : (row) => reasons.get(row) };
  }
}
