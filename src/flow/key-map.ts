import { KeySegments, type Segment } from './key-segments.js';

/** The result for an unknown text. */
const absent = -1;

/** Maps many texts to numbers, in 22 to 32 bytes each whatever their length. */
export class KeyMap {
  readonly #segments: KeySegments;
  /** Segment of the text opened last. */
  #segment: Segment | undefined;
  #slot = 0;

  /**
   * @param seed Four words that the digests start from; results do not depend on them. Default: random ones.
   */
  constructor(seed?: Uint32Array) {
    this.#segments = new KeySegments(seed);
  }

  /** Returns the number of a text; -1 if it has none. */
  get(text: string): number {
    const segment = this.#segments.find(text);
    if (segment === undefined) return absent;
    const slot = segment.find(this.#segments.digest);
    return slot < 0 ? absent : segment.value(slot);
  }

  /**
   * Sets the number of a text.
   *
   * @param value A whole number from 0, below 2^32.
   */
  set(text: string, value: number): void {
    this.open(text);
    this.put(value);
  }

  /**
   * Returns the number of a text, or -1 for a new one, which is added. `put` then sets its number.
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

  /** Sets the number of the text opened last. @param value A whole number from 0, below 2^32. */
  put(value: number): void {
    this.#segment?.setValue(this.#slot, value);
  }

  /** Replaces every number by the result of a function. */
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
