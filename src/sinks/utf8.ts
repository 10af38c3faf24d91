/**
 * UTF-8 that is put together from many small pieces. Texts of plain ASCII, which nearly all values are, cost a loop over their
 * characters: no string is joined, searched or encoded, and no garbage is made. It keeps room for the longest text so far.
 */
export class Utf8 {
  #bytes = new Uint8Array(1 << 16);
  #length = 0;

  /** Appends one byte: the code of an ASCII character. */
  code(code: number): void {
    this.#reserve(1);
    this.#bytes[this.#length] = code;
    this.#length += 1;
  }

  /** Appends bytes that are UTF-8 already, a few. */
  piece(piece: Uint8Array): void {
    this.#reserve(piece.length);
    const [bytes, start] = [this.#bytes, this.#length];
    // For some dozens of bytes a call of `set` takes longer.
    for (let index = 0; index < piece.length; index += 1) bytes[start + index] = piece[index] ?? 0;
    this.#length = start + piece.length;
  }

  /** Appends any text. Lone surrogates become U+FFFD. */
  text(text: string): void {
    this.#reserve(3 * text.length);
    this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written;
  }

  /**
   * Appends a text if all its characters are plain.
   *
   * @param plain For each code from 0 to 127 whether it is plain, see `plainExcept`.
   * @returns Whether they are; if not, nothing was appended.
   */
  plain(text: string, plain: Uint8Array): boolean {
    this.#reserve(text.length);
    const [bytes, start] = [this.#bytes, this.#length];
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (plain[code] !== 1) return false;
      bytes[start + index] = code;
    }
    this.#length = start + text.length;
    return true;
  }

  /**
   * Appends a part of bytes that are UTF-8 already, if all of them are plain.
   *
   * @param plain For each byte from 0 to 255 whether it is plain, see `plainBytes`.
   * @returns Whether they are; if not, nothing was appended.
   */
  bytes(from: Uint8Array, start: number, end: number, plain: Uint8Array): boolean {
    this.#reserve(end - start);
    const bytes = this.#bytes;
    let length = this.#length;
    for (let at = start; at < end; at += 1) {
      const byte = from[at] ?? 0;
      if (plain[byte] !== 1) return false;
      bytes[length] = byte;
      length += 1;
    }
    this.#length = length;
    return true;
  }

  /** What was appended since the last call, as bytes of their own. */
  take(): Uint8Array {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return taken;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(2 * needed);
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

/** A table for `Utf8.plain`: every ASCII character but those that the pattern finds. */
export function plainExcept(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => (pattern.test(String.fromCharCode(code)) ? 0 : 1));
}

/** A table for `Utf8.bytes`: plain characters, and those beyond ASCII all or none. */
export function plainBytes(plain: Uint8Array, beyondAscii: boolean): Uint8Array {
  const table = new Uint8Array(256).fill(beyondAscii ? 1 : 0);
  table.set(plain);
  return table;
}

const encoder = new TextEncoder();
