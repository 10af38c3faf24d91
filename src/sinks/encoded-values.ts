/** UTF-8 of some values, behind one another, each with a word behind it that may be read along. */
export class EncodedValues {
  #bytes = Buffer.alloc(1024);
  #view = viewOf(this.#bytes);
  readonly #starts: number[] = [0];
  /** Bytes, -1 where there is no text. */
  readonly #lengths: number[] = [];

  get bytes(): Buffer {
    return this.#bytes;
  }

  get view(): DataView {
    return this.#view;
  }

  /** Lone surrogates become U+FFFD. */
  add(text: string | null): void {
    const start = this.#starts.at(-1) ?? 0;
    this.#reserve(start + (text?.length ?? 0) * 3);
    const length = text === null ? -1 : this.#bytes.write(text, start);
    this.#lengths.push(length);
    this.#starts.push(start + Math.max(0, length));
  }

  start(code: number): number {
    return this.#starts[code] ?? 0;
  }

  /** In bytes; -1 where there is no text. */
  lengthOf(code: number): number {
    return this.#lengths[code] ?? -1;
  }

  #reserve(needed: number): void {
    if (needed + word <= this.#bytes.length) return;
    const bytes = Buffer.alloc(2 * needed + word);
    bytes.set(this.#bytes);
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }
}

const word = 4;

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}
