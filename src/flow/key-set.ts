import { digestOf } from '../vector/index.js';
import { KeySegments, type Segment, wordsOfEntry } from './key-segments.js';

/** What was known of a key: nothing, the same content, or other content. */
export type Seen = 'new' | 'same' | 'changed';

/** A set of texts, each with a 32-bit digest of its content, in at most 32 bytes each. */
export class KeySet {
  readonly #segments: KeySegments;

  /**
   * @param seed Four words that the digests start from; results do not depend on them. Default: random ones.
   * @param marked Whether texts have marks, which use four bytes each; the tables then grow in smaller steps to stay within 32 bytes.
   * @param expected Roughly how many texts there will be; memory for these is allocated from the start.
   */
  constructor(seed?: Uint32Array, marked = false, expected = 0) {
    this.#segments = new KeySegments(seed, marked, expected);
  }

  get seed(): Uint32Array {
    return this.#segments.seed;
  }

  /** Adds a text. @returns Whether it was new. */
  add(text: string): boolean {
    return this.see(text, []) === 'new';
  }

  /** Adds a text with its content. The first content is kept. */
  see(text: string, content: readonly unknown[]): Seen {
    return this.seeDigest(text, digestOf(content));
  }

  /** Adds a text with the digest of its content. */
  seeDigest(text: string, content: number): Seen {
    const segment = this.#segments.open(text);
    return seen(segment, segment.place(this.#segments.digest), content);
  }

  /** Returns what `see` would, without adding the text. */
  find(text: string, content: readonly unknown[]): Seen {
    const segment = this.#segments.find(text);
    const slot = segment?.find(this.#segments.digest) ?? -1;
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
    const segment = this.#segments.open(text);
    const placed = segment.place(this.#segments.digest);
    const slot = placed < 0 ? ~placed : placed;
    const before = segment.mark(slot);
    if (before <= since) segment.setMark(slot, mark);
    return { seen: seen(segment, placed, content), before };
  }

  /** Returns the mark of a text; 0 if it has none. */
  markOf(text: string): number {
    const segment = this.#segments.find(text);
    const slot = segment?.find(this.#segments.digest) ?? -1;
    return segment === undefined || slot < 0 ? 0 : segment.mark(slot);
  }

  /** Yields the stored entries, four words each, for `restore`, as views that are valid until the next call. */
  *entries(): Iterable<Uint32Array> {
    for (const segment of this.#segments.all()) yield* segment.entries();
  }

  /** Adds the entries of a set with the same seed. */
  restore(entries: Uint32Array): void {
    for (let i = 0; i + wordsOfEntry <= entries.length; i += wordsOfEntry) {
      this.#segments.digest.set(entries.subarray(i, i + 3));
      const segment = this.#segments.openDigest();
      seen(segment, segment.place(this.#segments.digest), entries[i + 3] ?? 0);
    }
  }

  /** Number of texts. */
  get size(): number {
    return this.#segments.size;
  }

  /** Bytes of its tables. */
  get bytes(): number {
    return this.#segments.bytes;
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
