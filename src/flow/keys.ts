import { randomFillSync } from 'node:crypto';

/** Words of an entry: three of digest, one of value. Others follow. */
const wordsOfEntry = 4;

const fullest = 0.75;

/** What was known of a key: nothing, the same content, or other content. */
export type Seen = 'new' | 'same' | 'changed';

/**
 * Many texts in 16 bytes each, plus spare capacity: at most 32. For each text it stores a 96-bit digest, and a word: a number, or a digest
 * of its content. Among a billion texts, the chance of a collision is below 10^-11; as every table has its own secret, collisions cannot be
 * crafted. The number of entries is unlimited, unlike in `Map` and `Set`, which end at 2^24. The entries are in 256 segments that grow
 * independently, by half, when three quarters full: the load stays between 0.5 and 0.75, and growing holds only one segment twice. Its
 * first text creates a segment.
 */
export class KeyMap {
  readonly #segments = Array.from({ length: 256 }, (): Segment | undefined => undefined);
  readonly #room: number;
  readonly #digest = new Uint32Array(3);
  /** Where the text placed or found last is. */
  #segment: Segment | undefined;
  #slot = 0;

  /**
   * @param seed Four words that the digests start from; results do not depend on them. Default: random ones.
   * @param extra Words of each entry besides: a mark, or the digest of a content. Tables then grow in smaller steps: an entry has at most
   * 24 bytes, and 8 more for each of them.
   * @param expected Roughly how many texts there will be: tables of sufficient capacity do not need to grow.
   */
  constructor(
    readonly seed: Uint32Array = randomFillSync(new Uint32Array(4)),
    private readonly extra = 0,
    expected = 0,
  ) {
    const each = expected / this.#segments.length;
    this.#room = Math.max(16, Math.ceil((each + Math.sqrt(each)) / fullest));
  }

  get size(): number {
    return this.#segments.reduce((sum, segment) => sum + (segment?.size ?? 0), 0);
  }

  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + (segment?.bytes ?? 0), 0);
  }

  /** Adds a text. @returns Whether it was new. */
  add(text: string): boolean {
    this.#digestOf(text);
    return this.#place();
  }

  /** Returns the number of a text, which is opened; -1 if it has none. */
  get(text: string): number {
    return this.#find(text) ? this.#value : -1;
  }

  /** Returns the number of a text; -1 for a new one, which is added, and whose number `put` then sets. */
  open(text: string): number {
    return this.add(text) ? -1 : this.#value;
  }

  /** Sets the number of the text opened last: a whole number from 0, below 2^32. */
  put(value: number): void {
    if (this.#segment) this.#segment.slots[this.#slot + 3] = value;
  }

  mapValues(valueOf: (value: number) => number): void {
    for (const entry of this.entries()) this.put(valueOf(entry[3] ?? 0));
  }

  /** Whether the words of the text opened last are some words of `from`, at `at`. */
  has(from: Uint32Array, at: number): boolean {
    const place = this.#slot + wordsOfEntry;
    const words = this.#segment?.slots ?? none;
    for (let word = 0; word < this.extra; word += 1) if (words[place + word] !== from[at + word]) return false;
    return true;
  }

  /** Sets the words of the text opened last. */
  keep(from: Uint32Array, at: number): void {
    const place = this.#slot + wordsOfEntry;
    const words = this.#segment?.slots ?? none;
    for (let word = 0; word < this.extra; word += 1) words[place + word] = from[at + word] ?? 0;
  }

  /** Adds a text with its content's digest, and a mark from 1; one above `since` is kept. @returns Also the mark before, 0 for none. */
  sight(text: string, content: number, mark: number, since: number): { readonly seen: Seen; readonly before: number } {
    const seen = this.#seen(this.add(text), content);
    const before = this.#mark;
    if (before <= since && this.#segment) this.#segment.slots[this.#slot + wordsOfEntry] = mark;
    return { seen, before };
  }

  /** Returns the mark of a text; 0 if it has none. */
  markOf(text: string): number {
    return this.#find(text) ? this.#mark : 0;
  }

  /** Yields the stored entries with their other words, for `restore`, in an array that the next one changes. Each is opened. */
  *entries(): Iterable<Uint32Array> {
    const entry = new Uint32Array(wordsOfEntry + this.extra);
    for (const segment of this.#segments) {
      if (!segment) continue;
      const { slots } = segment;
      for (let slot = 0; slot < slots.length; slot += entry.length) {
        if (isFree(slots, slot)) continue;
        [this.#segment, this.#slot] = [segment, slot];
        for (let word = 0; word < entry.length; word += 1) entry[word] = slots[slot + word] ?? 0;
        yield entry;
      }
    }
  }

  restore(entries: Uint32Array): void {
    for (let i = 0; i + wordsOfEntry + this.extra <= entries.length; i += wordsOfEntry + this.extra) {
      for (let word = 0; word < 3; word += 1) this.#digest[word] = entries[i + word] ?? 0;
      this.#place();
      this.put(entries[i + 3] ?? 0);
      this.keep(entries, i + wordsOfEntry);
    }
  }

  #digestOf(text: string): void {
    halfSipHash(text, this.seed, this.#digest);
    // An all-zero digest would look like a free entry.
    if (isFree(this.#digest, 0)) this.#digest[2] = 1;
  }

  #find(text: string): boolean {
    this.#digestOf(text);
    const segment = this.#segments[(this.#digest[0] ?? 0) >>> 24];
    if (segment === undefined) return false;
    this.#segment = segment;
    this.#slot = segment.slotOf(this.#digest, 0);
    return !isFree(segment.slots, this.#slot);
  }

  #place(): boolean {
    const segment = (this.#segments[(this.#digest[0] ?? 0) >>> 24] ??= new Segment(this.#room, this.extra));
    const before = segment.size;
    this.#segment = segment;
    this.#slot = segment.place(this.#digest);
    return segment.size > before;
  }

  /** Compares the content with the kept one, which it becomes for a new text. */
  #seen(isNew: boolean, content: number): Seen {
    if (!isNew) return this.#value === content ? 'same' : 'changed';
    this.put(content);
    return 'new';
  }

  get #value(): number {
    return this.#segment?.slots[this.#slot + 3] ?? 0;
  }

  get #mark(): number {
    return this.#segment?.slots[this.#slot + wordsOfEntry] ?? 0;
  }
}

// Nothing here or in `halfSipHash` uses array destructuring, with which adding a key took 0.5 µs instead of 0.23 µs.

/** A hash table with linear probing. An entry whose digest is all zeros is free; a slot is the index of an entry's first word. */
class Segment {
  slots: Uint32Array;
  size = 0;
  readonly #width: number;

  constructor(
    private room: number,
    private readonly extra: number,
  ) {
    this.#width = wordsOfEntry + extra;
    this.slots = new Uint32Array(room * this.#width);
  }

  get bytes(): number {
    return this.slots.byteLength;
  }

  /** Adds a digest, unless it is there. @returns Its slot. */
  place(digest: Uint32Array): number {
    if (this.size + 1 > this.room * fullest) this.#grow();
    const slot = this.slotOf(digest, 0);
    if (isFree(this.slots, slot)) {
      this.size += 1;
      for (let word = 0; word < digest.length; word += 1) this.slots[slot + word] = digest[word] ?? 0;
    }
    return slot;
  }

  /** @param from Where the digest begins. */
  slotOf(digests: Uint32Array, from: number): number {
    const { slots } = this;
    const width = this.#width;
    const a = digests[from] ?? 0;
    const b = digests[from + 1] ?? 0;
    const c = digests[from + 2] ?? 0;
    for (let slot = Math.floor((b * this.room) / 0x1_0000_0000) * width; ; slot = slot + width === slots.length ? 0 : slot + width) {
      const x = slots[slot];
      const y = slots[slot + 1];
      const z = slots[slot + 2];
      if ((x === a && y === b && z === c) || (x === 0 && y === 0 && z === 0)) return slot;
    }
  }

  #grow(): void {
    const old = this.slots;
    const width = this.#width;
    this.room = Math.ceil(this.room * (this.extra > 0 ? 1.2 : 1.5));
    this.slots = new Uint32Array(this.room * width);
    for (let from = 0; from < old.length; from += width) {
      if (isFree(old, from)) continue;
      const slot = this.slotOf(old, from);
      for (let word = 0; word < width; word += 1) this.slots[slot + word] = old[from + word] ?? 0;
    }
  }
}

const none = new Uint32Array(0);

function isFree(slots: Uint32Array, slot: number): boolean {
  return slots[slot] === 0 && slots[slot + 1] === 0 && slots[slot + 2] === 0;
}

/**
 * Computes a keyed digest, of the length of `into`: HalfSipHash-2-4 (Aumasson and Bernstein, CC0) over the code units of a text, two per
 * word, and its length. As in SipHash with 128 bits, every word of the result has its own four rounds.
 *
 * @param seed The key, of four words.
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

function word(text: string, index: number): number {
  const at = index * 2;
  const low = at < text.length ? text.charCodeAt(at) : 0;
  const high = at + 1 < text.length ? text.charCodeAt(at + 1) : 0;
  return low | (high << 16);
}

function rotate(x: number, by: number): number {
  return (x << by) | (x >>> (32 - by));
}
