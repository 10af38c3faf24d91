import type { Value } from '../core/index.js';
import { type DictionaryVector, perDictionary, viewOf } from './vectors.js';

/**
 * Encodes each dictionary value that rows use once.
 *
 * Memory: the bytes of the distinct texts of the most recent dictionary.
 */
export function encoding(textOf: (value: Value) => string | null): (vector: DictionaryVector) => EncodedValues {
  return perDictionary(
    () => new EncodedValues(),
    (encoded, value, index) => encoded.put(index, textOf(value)),
  );
}

/** The UTF-8 of values by index, each followed by at least a word of readable bytes. Equal texts are stored once. */
export class EncodedValues {
  /** For each index the start offset and length of its bytes; the length is -1 if there is no text. */
  places = new Int32Array(512);
  bytes = Buffer.alloc(4096);
  view = viewOf(this.bytes);
  readonly #known = new Map<string, number>();
  #end = 0;

  /** Lone surrogates become U+FFFD. */
  put(index: number, text: string | null): void {
    const at = 2 * index;
    while (at >= this.places.length) this.places = twice(this.places);
    const known = text === null ? undefined : this.#known.get(text);
    this.places[at] = known === undefined ? this.#end : (this.places[known] ?? 0);
    this.places[at + 1] = known === undefined ? this.#write(text) : (this.places[known + 1] ?? 0);
    if (text !== null && known === undefined) this.#known.set(text, at);
  }

  /**
   * @returns The number of bytes.
   */
  #write(text: string | null): number {
    if (text === null) return -1;
    const needed = this.#end + text.length * 3 + word;
    if (needed > this.bytes.length) {
      const bytes = Buffer.alloc(2 * needed);
      bytes.set(this.bytes);
      this.bytes = bytes;
      this.view = viewOf(bytes);
    }
    const length = this.bytes.write(text, this.#end);
    this.#end += length;
    return length;
  }
}

const word = 4;

function twice(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(2 * array.length);
  longer.set(array);
  return longer;
}
