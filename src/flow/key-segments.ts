import { randomFillSync } from 'node:crypto';
import { halfSipHash } from './half-sip-hash.js';

/** Words of an entry: three of digest, one of value. */
export const wordsOfEntry = 4;

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
export class KeySegments {
  readonly #segments = Array.from({ length: 256 }, (): Segment | undefined => undefined);
  /** Initial capacity of a segment, in entries. */
  readonly #room: number;
  /** Digest of the most recently requested text or entry. */
  readonly digest = new Uint32Array(3);

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
  find(text: string): Segment | undefined {
    halfSipHash(text, this.seed, this.digest);
    return this.#segments[(this.digest[0] ?? 0) >>> 24];
  }

  /** Returns the segment of a text, creating it if necessary. */
  open(text: string): Segment {
    halfSipHash(text, this.seed, this.digest);
    return this.openDigest();
  }

  /** Returns the segment of the current digest, creating it if necessary. */
  openDigest(): Segment {
    return (this.#segments[(this.digest[0] ?? 0) >>> 24] ??= new Segment(this.#room, this.marked));
  }

  *all(): Iterable<Segment> {
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

// Nothing here or in `halfSipHash` uses array destructuring, with which adding a key took 0.5 µs instead of 0.23 µs.

/** A hash table with linear probing. An entry whose digest is all zeros is free; a slot is the index of an entry's first word. */
export class Segment {
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
