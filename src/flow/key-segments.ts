import { randomFillSync } from 'node:crypto';
import { halfSipHash } from './half-sip-hash.js';

/** Words of an entry: three of digest, one of value. */
export const wordsOfEntry = 4;

/** The largest share of its entries that a segment has taken. */
const fullest = 0.75;

/**
 * Many texts in 16 bytes each and the room to grow: what is kept of a text is a 96-bit digest, and a word that whoever keeps the texts
 * gives a meaning to. Among a billion texts the chance of a single collision is below 10^-11, and as every table has a secret of its
 * own, texts cannot be made to collide. There is no limit on the number of entries, unlike for `Map` and `Set`, which end at 2^24.
 *
 * The entries are in 256 segments that grow by themselves, by half, when three quarters full; so the load stays between 0.5 and 0.75,
 * and growing holds only one segment twice. A segment is made with its first text.
 */
export class KeySegments {
  readonly #segments = Array.from({ length: 256 }, (): Segment | undefined => undefined);
  /** Entries that a segment has room for at first. */
  readonly #room: number;
  /** That of the text or entry that was asked for last. */
  readonly digest = new Uint32Array(3);

  /**
   * @param seed Four words that the digests start from; answers do not depend on them. Default: random ones.
   * @param marked Whether entries have marks, which take four bytes each; the tables then grow in smaller steps to stay within 32.
   * @param expected How many texts there will be about: tables that have room for them from the start need not grow.
   */
  constructor(
    readonly seed: Uint32Array = randomFillSync(new Uint32Array(4)),
    private readonly marked = false,
    expected = 0,
  ) {
    const each = expected / this.#segments.length;
    this.#room = Math.max(16, Math.ceil((each + Math.sqrt(each)) / fullest));
  }

  /** The segment of a text, if there is one. */
  find(text: string): Segment | undefined {
    halfSipHash(text, this.seed, this.digest);
    return this.#segments[(this.digest[0] ?? 0) >>> 24];
  }

  /** The segment of a text. */
  open(text: string): Segment {
    halfSipHash(text, this.seed, this.digest);
    return this.openDigest();
  }

  /** The segment of the digest. */
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

// Nothing here and in `halfSipHash` takes arrays apart by patterns: with these, adding a key took 0.5 µs instead of 0.23 µs.

/** Open addressing with linear probing. An entry whose digest is three zeros is free; a slot is the index of the first word of one. */
export class Segment {
  #slots: Uint32Array;
  /** By entry. */
  #marks: Uint32Array | undefined;
  size = 0;

  constructor(room: number, marked: boolean) {
    this.#slots = new Uint32Array(room * wordsOfEntry);
    if (marked) this.#marks = new Uint32Array(room);
  }

  get bytes(): number {
    return this.#slots.byteLength + (this.#marks?.byteLength ?? 0);
  }

  /** The slot of a digest; -1 when it has none. */
  find(digest: Uint32Array): number {
    const slot = slotOf(this.#slots, digest);
    return isFree(this.#slots, slot) ? -1 : slot;
  }

  /** Makes a slot for a digest. @returns Its slot when it had one; when it had none, the complement of the new one, which is below 0. */
  place(digest: Uint32Array): number {
    if ((this.size + 1) * wordsOfEntry > this.#slots.length * fullest) this.#grow();
    const slots = this.#slots;
    const slot = slotOf(slots, digest);
    if (!isFree(slots, slot)) return slot;
    this.size += 1;
    write(slots, slot, digest);
    return ~slot;
  }

  /** The word of a slot that holds the value. */
  value(slot: number): number {
    return this.#slots[slot + 3] ?? 0;
  }

  setValue(slot: number, value: number): void {
    this.#slots[slot + 3] = value;
  }

  /** The mark of a slot; 0 when it has none. */
  mark(slot: number): number {
    return this.#marks?.[slot / wordsOfEntry] ?? 0;
  }

  setMark(slot: number, mark: number): void {
    if (this.#marks) this.#marks[slot / wordsOfEntry] = mark;
  }

  /** Gives every entry the value that a function makes of its own. */
  mapValues(valueOf: (value: number) => number): void {
    const slots = this.#slots;
    for (let slot = 0; slot < slots.length; slot += wordsOfEntry) if (!isFree(slots, slot)) slots[slot + 3] = valueOf(slots[slot + 3] ?? 0);
  }

  /** The entries, four words each. Views, good until the next call. */
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
  // A digest of zeros would make no entry.
  slots[slot + 2] = (a | b | c) === 0 ? 1 : c;
}

/** Where a digest is, or else the free slot that it gets. */
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
