import { KeySegments, type Segment } from './key-segments.js';

/** What stands for a text that is not there. */
const absent = -1;

/** A number for each of many texts, in 22 to 32 bytes each whatever their length. */
export class KeyMap {
  readonly #segments: KeySegments;
  /** Of the text that was opened last. */
  #segment: Segment | undefined;
  #slot = 0;

  /** @param seed Four words that the digests start from; answers do not depend on them. Default: random ones. */
  constructor(seed?: Uint32Array) {
    this.#segments = new KeySegments(seed);
  }

  /** The number of a text; -1 when it has none. */
  get(text: string): number {
    const segment = this.#segments.find(text);
    if (segment === undefined) return absent;
    const slot = segment.find(this.#segments.digest);
    return slot < 0 ? absent : segment.value(slot);
  }

  /**
   * Gives a text its number.
   *
   * @param value A whole number from 0 on, below 2^32.
   */
  set(text: string, value: number): void {
    this.open(text);
    this.put(value);
  }

  /**
   * The number of a text, which is given a place if it has none; -1 for such a one. `put` gives it its number next.
   *
   * @example
   * const before = map.open('a'); // -1
   * map.put(7);
   */
  open(text: string): number {
    this.#segment = this.#segments.open(text);
    const slot = this.#segment.place(this.#segments.digest);
    this.#slot = slot < 0 ? ~slot : slot;
    return slot < 0 ? absent : this.#segment.value(slot);
  }

  /** Gives the text that was opened last its number. @param value A whole number from 0 on, below 2^32. */
  put(value: number): void {
    this.#segment?.setValue(this.#slot, value);
  }

  /** Gives every text the number that a function makes of its own. */
  mapValues(valueOf: (value: number) => number): void {
    for (const segment of this.#segments.all()) segment.mapValues(valueOf);
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
