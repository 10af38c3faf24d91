/**
 * A column of texts as the service sent them: UTF-8 in the bytes of a response, without strings. A string is created only for a text that is requested.
 *
 * All texts are valid UTF-8, so none has a lone surrogate, and none has a NUL; a page with such a text is not read this way.
 */
export class Utf8Vector {
  /**
   * @param bytes The bytes that contain the texts.
   * @param bounds Where each begins and ends: two offsets per row, `stride` apart from row to row.
   * @param first Index of the first row's offsets in `bounds`.
   * @param length Number of rows.
   */
  constructor(
    readonly bytes: Buffer,
    readonly bounds: Int32Array,
    readonly first: number,
    readonly stride: number,
    readonly length: number,
  ) {}

  /** Returns the offset of the first byte of a row's text. */
  start(row: number): number {
    return this.bounds[this.first + row * this.stride] ?? 0;
  }

  /** Returns the offset after its last byte. */
  end(row: number): number {
    return this.bounds[this.first + row * this.stride + 1] ?? 0;
  }

  value(row: number): string {
    const start = this.start(row);
    const end = this.end(row);
    return start === end ? '' : this.bytes.toString('utf8', start, end);
  }

  /** Returns whether a row has an empty text. */
  isEmpty(row: number): boolean {
    return this.start(row) === this.end(row);
  }

  /** Returns the bytes of a row's text. */
  byteLength(row: number): number {
    return this.end(row) - this.start(row);
  }

  /** Returns the bytes of memory used. @param shared The objects counted already. */
  memory(shared: Set<object>): number {
    const fresh = [this.bytes, this.bounds].filter((bytes) => !shared.has(bytes));
    for (const bytes of fresh) shared.add(bytes);
    return fresh.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  toArray(): readonly string[] {
    return Array.from({ length: this.length }, (_, row) => this.value(row));
  }

  /** Returns the texts of some rows, in the given order. */
  take(rows: readonly number[]): Utf8Vector {
    const bounds = new Int32Array(2 * rows.length);
    rows.forEach((row, index) => {
      bounds[2 * index] = this.start(row);
      bounds[2 * index + 1] = this.end(row);
    });
    return new Utf8Vector(this.bytes, bounds, 0, 2, rows.length);
  }
}
