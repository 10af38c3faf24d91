import { randomFillSync } from 'node:crypto';
import { digestOf } from '../vector/index.js';

/** Words of an entry: three of digest, one of value. */
const wordsOfEntry = 4;

/** Maximum load factor of a segment. */
const fullest = 0.75;

/**
 * Many texts in 16 bytes each, plus spare capacity. For each text it stores a 96-bit digest, and a word whose meaning is up to the caller.
 * Among a billion texts the chance of a single collision is below 10^-11, and since every table has its own secret, collisions cannot be
 * crafted. The number of entries is unlimited, unlike in `Map` and `Set`, which end at 2^24.
 *
 * The entries are in 256 segments that grow independently, by half, when three quarters full. So the load stays between 0.5 and 0.75, and
 * growing holds only one segment twice. A segment is created with its first text.
 */
class KeySegments {
  readonly #segments = Array.from({ length: 256 }, (): Segment | undefined => undefined);
  /** Initial capacity of a segment, in entries. */
  readonly #room: number;
  /** Digest of the most recently requested text or entry. */
  protected readonly digest = new Uint32Array(3);

  /**
   * @param seed Four words that the digests start from; results do not depend on them. Default: random ones.
   * @param marked Whether entries have marks, which use four bytes each; the tables then grow in smaller steps to stay within 32 bytes.
   * @param expected Roughly how many texts there will be: tables of sufficient capacity do not need to grow.
   */
  constructor(
    readonly seed: Uint32Array = randomFillSync(new Uint32Array(4)),
    private readonly marked = false,
    expected = 0,
  ) {
    const each = expected / this.#segments.length;
    this.#room = Math.max(16, Math.ceil((each + Math.sqrt(each)) / fullest));
  }

  /** Returns the segment of a text, if it exists. */
  protected segmentOf(text: string): Segment | undefined {
    halfSipHash(text, this.seed, this.digest);
    return this.#segments[(this.digest[0] ?? 0) >>> 24];
  }

  /** Returns the segment of a text, creating it if necessary. */
  protected openSegment(text: string): Segment {
    halfSipHash(text, this.seed, this.digest);
    return this.openDigest();
  }

  /** Returns the segment of the current digest, creating it if necessary. */
  protected openDigest(): Segment {
    return (this.#segments[(this.digest[0] ?? 0) >>> 24] ??= new Segment(this.#room, this.marked));
  }

  protected *all(): Iterable<Segment> {
    for (const segment of this.#segments) if (segment) yield segment;
  }

  /** Number of texts. */
  get size(): number {
    return this.#segments.reduce((sum, segment) => sum + (segment?.size ?? 0), 0);
  }

  /** Bytes of the tables. */
  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + (segment?.bytes ?? 0), 0);
  }
}

/** What was known of a key: nothing, the same content, or other content. */
export type Seen = 'new' | 'same' | 'changed';

/** A set of texts, each with a 32-bit digest of its content, in at most 32 bytes each. */
export class KeySet extends KeySegments {
  /** Adds a text. @returns Whether it was new. */
  add(text: string): boolean {
    return this.see(text, []) === 'new';
  }

  /** Adds a text with its content. The first content is kept. */
  see(text: string, content: readonly unknown[]): Seen {
    const segment = this.openSegment(text);
    return seen(segment, segment.place(this.digest), digestOf(content));
  }

  /** Returns what `see` would, without adding the text. */
  find(text: string, content: readonly unknown[]): Seen {
    const segment = this.segmentOf(text);
    const slot = segment?.find(this.digest) ?? -1;
    return segment === undefined || slot < 0 ? 'new' : known(segment, slot, digestOf(content));
  }

  /**
   * Adds a text with the digest of its content, and sets its mark.
   *
   * @param mark A whole number from 1, below 2^32.
   * @param since A mark above this one is kept.
   * @returns Also the previous mark; 0 if there was none.
   */
  sight(text: string, content: number, mark: number, since: number): { readonly seen: Seen; readonly before: number } {
    const segment = this.openSegment(text);
    const placed = segment.place(this.digest);
    const slot = placed < 0 ? ~placed : placed;
    const before = segment.mark(slot);
    if (before <= since) segment.setMark(slot, mark);
    return { seen: seen(segment, placed, content), before };
  }

  /** Returns the mark of a text; 0 if it has none. */
  markOf(text: string): number {
    const segment = this.segmentOf(text);
    const slot = segment?.find(this.digest) ?? -1;
    return segment === undefined || slot < 0 ? 0 : segment.mark(slot);
  }

  /** Yields the stored entries, four words each, for `restore`, as views that are valid until the next call. */
  *entries(): Iterable<Uint32Array> {
    for (const segment of this.all()) yield* segment.entries();
  }

  /** Adds the entries of a set with the same seed. */
  restore(entries: Uint32Array): void {
    for (let i = 0; i + wordsOfEntry <= entries.length; i += wordsOfEntry) {
      this.digest.set(entries.subarray(i, i + 3));
      const segment = this.openDigest();
      seen(segment, segment.place(this.digest), entries[i + 3] ?? 0);
    }
  }
}

/** Interprets the result of `Segment.place`, and stores the content in a new slot. */
function seen(segment: Segment, placed: number, content: number): Seen {
  if (placed >= 0) return known(segment, placed, content);
  segment.setValue(~placed, content);
  return 'new';
}

function known(segment: Segment, slot: number, content: number): Seen {
  return segment.value(slot) === content ? 'same' : 'changed';
}

/** The result for an unknown text. */
const absent = -1;

/** Maps many texts to numbers, in 22 to 32 bytes each whatever their length. */
export class KeyMap extends KeySegments {
  /** Segment of the text opened last. */
  #segment: Segment | undefined;
  #slot = 0;

  /** Returns the number of a text; -1 if it has none. */
  get(text: string): number {
    const segment = this.segmentOf(text);
    if (segment === undefined) return absent;
    const slot = segment.find(this.digest);
    return slot < 0 ? absent : segment.value(slot);
  }

  /**
   * Returns the number of a text, or -1 for a new one, which is added. `put` then sets its number.
   *
   * @example
   * const before = map.open('a'); // -1
   * map.put(7);
   */
  open(text: string): number {
    this.#segment = this.openSegment(text);
    const slot = this.#segment.place(this.digest);
    this.#slot = slot < 0 ? ~slot : slot;
    return slot < 0 ? absent : this.#segment.value(slot);
  }

  /** Sets the number of the text opened last. @param value A whole number from 0, below 2^32. */
  put(value: number): void {
    this.#segment?.setValue(this.#slot, value);
  }

  /** Replaces every number by the result of a function. */
  mapValues(valueOf: (value: number) => number): void {
    for (const segment of this.all()) segment.mapValues(valueOf);
  }
}

// Nothing here or in `halfSipHash` uses array destructuring, with which adding a key took 0.5 µs instead of 0.23 µs.

/** A hash table with linear probing. An entry whose digest is all zeros is free; a slot is the index of an entry's first word. */
class Segment {
  #slots: Uint32Array;
  /** By entry index. */
  #marks: Uint32Array | undefined;
  size = 0;

  constructor(room: number, marked: boolean) {
    this.#slots = new Uint32Array(room * wordsOfEntry);
    if (marked) this.#marks = new Uint32Array(room);
  }

  get bytes(): number {
    return this.#slots.byteLength + (this.#marks?.byteLength ?? 0);
  }

  /** Returns the slot of a digest; -1 if it has none. */
  find(digest: Uint32Array): number {
    const slot = slotOf(this.#slots, digest);
    return isFree(this.#slots, slot) ? -1 : slot;
  }

  /** Adds a digest. @returns Its slot if it already had one; otherwise the complement of the new slot, which is below 0. */
  place(digest: Uint32Array): number {
    if ((this.size + 1) * wordsOfEntry > this.#slots.length * fullest) this.#grow();
    const slots = this.#slots;
    const slot = slotOf(slots, digest);
    if (!isFree(slots, slot)) return slot;
    this.size += 1;
    write(slots, slot, digest);
    return ~slot;
  }

  /** Returns the value of a slot. */
  value(slot: number): number {
    return this.#slots[slot + 3] ?? 0;
  }

  setValue(slot: number, value: number): void {
    this.#slots[slot + 3] = value;
  }

  /** Returns the mark of a slot; 0 if it has none. */
  mark(slot: number): number {
    return this.#marks?.[slot / wordsOfEntry] ?? 0;
  }

  setMark(slot: number, mark: number): void {
    if (this.#marks) this.#marks[slot / wordsOfEntry] = mark;
  }

  /** Replaces every value by the result of a function. */
  mapValues(valueOf: (value: number) => number): void {
    const slots = this.#slots;
    for (let slot = 0; slot < slots.length; slot += wordsOfEntry) if (!isFree(slots, slot)) slots[slot + 3] = valueOf(slots[slot + 3] ?? 0);
  }

  /** Yields the entries, four words each, as views that are valid until the next call. */
  *entries(): Iterable<Uint32Array> {
    for (let slot = 0; slot < this.#slots.length; slot += wordsOfEntry)
      if (!isFree(this.#slots, slot)) yield this.#slots.subarray(slot, slot + wordsOfEntry);
  }

  #grow(): void {
    const old = this.#slots;
    const marks = this.#marks;
    const slots = new Uint32Array(Math.ceil((old.length / wordsOfEntry) * (marks ? 1.2 : 1.5)) * wordsOfEntry);
    this.#slots = slots;
    if (marks) this.#marks = new Uint32Array(slots.length / wordsOfEntry);
    const digest = new Uint32Array(3);
    for (let from = 0; from < old.length; from += wordsOfEntry) {
      if (isFree(old, from)) continue;
      digest[0] = old[from] ?? 0;
      digest[1] = old[from + 1] ?? 0;
      digest[2] = old[from + 2] ?? 0;
      const slot = slotOf(slots, digest);
      write(slots, slot, digest);
      slots[slot + 3] = old[from + 3] ?? 0;
      if (marks) this.setMark(slot, marks[from / wordsOfEntry] ?? 0);
    }
  }
}

function isFree(slots: Uint32Array, slot: number): boolean {
  return slots[slot] === 0 && slots[slot + 1] === 0 && slots[slot + 2] === 0;
}

function write(slots: Uint32Array, slot: number, digest: Uint32Array): void {
  const a = digest[0] ?? 0;
  const b = digest[1] ?? 0;
  const c = digest[2] ?? 0;
  slots[slot] = a;
  slots[slot + 1] = b;
  // An all-zero digest would look like a free entry.
  slots[slot + 2] = (a | b | c) === 0 ? 1 : c;
}

/** Returns the slot of a digest, or else the free slot for it. */
function slotOf(slots: Uint32Array, digest: Uint32Array): number {
  const a = digest[0] ?? 0;
  const b = digest[1] ?? 0;
  const given = digest[2] ?? 0;
  const c = (a | b | given) === 0 ? 1 : given;
  for (
    let slot = (b % (slots.length / wordsOfEntry)) * wordsOfEntry;
    ;
    slot = slot + wordsOfEntry === slots.length ? 0 : slot + wordsOfEntry
  ) {
    const x = slots[slot];
    const y = slots[slot + 1];
    const z = slots[slot + 2];
    if ((x === a && y === b && z === c) || (x === 0 && y === 0 && z === 0)) return slot;
  }
}

/**
 * Computes a keyed digest: HalfSipHash-2-4 (Aumasson and Bernstein, CC0) over the code units of a text, two per word, and its length. As in
 * SipHash with 128 bits, every word of the result has its own four rounds.
 *
 * @param seed The key, of four words.
 * @param into Receives the digest, whose length is that of the array.
 */
export function halfSipHash(text: string, seed: Uint32Array, into: Uint32Array): void {
  let v0 = seed[0] ?? 0;
  let v1 = seed[1] ?? 0;
  let v2 = seed[2] ?? 0;
  let v3 = seed[3] ?? 0;
  const end = Math.ceil(text.length / 2);
  for (let i = 0; i <= end + into.length; i += 1) {
    const input = i < end ? word(text, i) : i === end ? text.length : 0;
    if (i > end) v2 ^= 0xff;
    v3 ^= input;
    for (let round = i > end ? 4 : 2; round > 0; round -= 1) {
      v0 = (v0 + v1) | 0;
      v2 = (v2 + v3) | 0;
      v1 = rotate(v1, 5) ^ v0;
      v3 = rotate(v3, 8) ^ v2;
      v0 = (rotate(v0, 16) + v3) | 0;
      v2 = (v2 + v1) | 0;
      v3 = rotate(v3, 7) ^ v0;
      v1 = rotate(v1, 13) ^ v2;
      v2 = rotate(v2, 16);
    }
    v0 ^= input;
    if (i > end) into[i - end - 1] = v1 ^ v3;
  }
}

/** Returns the 32-bit word at an index of a text: two code units, zero beyond the end. */
function word(text: string, index: number): number {
  const at = index * 2;
  const low = at < text.length ? text.charCodeAt(at) : 0;
  const high = at + 1 < text.length ? text.charCodeAt(at + 1) : 0;
  return low | (high << 16);
}

function rotate(x: number, by: number): number {
  return (x << by) | (x >>> (32 - by));
}
