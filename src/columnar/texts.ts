/**
 * A column of texts that still are what the service sent: UTF-8 in the bytes of an answer, without a string for any of them.
 * Strings are made one by one, of those that somebody asks for.
 *
 * All texts are valid UTF-8, so none has a lone surrogate, and none has a NUL; a page with such a text is not read this way.
 */
export class Texts {
  /**
   * @param bytes Where the texts are.
   * @param bounds Where each begins and ends: two offsets per row, `stride` apart from row to row.
   * @param first Index of the first row's in `bounds`.
   * @param length Rows.
   */
  constructor(
    readonly bytes: Buffer,
    readonly bounds: Int32Array,
    readonly first: number,
    readonly stride: number,
    readonly length: number,
  ) {}

  /** Offset of the first byte of a row's text. */
  start(row: number): number {
    return this.bounds[this.first + row * this.stride] ?? 0;
  }

  /** Offset behind its last byte. */
  end(row: number): number {
    return this.bounds[this.first + row * this.stride + 1] ?? 0;
  }

  text(row: number): string {
    const start = this.start(row);
    const end = this.end(row);
    return start === end ? '' : this.bytes.toString('utf8', start, end);
  }

  /** Whether any row has a text that is not empty. */
  some(): boolean {
    for (let row = 0; row < this.length; row += 1) if (this.end(row) > this.start(row)) return true;
    return false;
  }

  /** The texts of some rows, in the order given. */
  pick(rows: readonly number[]): Texts {
    const bounds = new Int32Array(2 * rows.length);
    rows.forEach((row, index) => {
      bounds[2 * index] = this.start(row);
      bounds[2 * index + 1] = this.end(row);
    });
    return new Texts(this.bytes, bounds, 0, 2, rows.length);
  }
}
