/** Bits that mark the rows with a value. There are none before the first null. */
export class Validity {
  #bits: Uint8Array = new Uint8Array(0);
  #nulls = 0;

  setNull(row: number): void {
    if (row >> 3 >= this.#bits.length) {
      const bits = new Uint8Array(Math.max(this.#bits.length * 2, (row >> 3) + 1024)).fill(0xff);
      bits.set(this.#bits);
      this.#bits = bits;
    }
    this.#bits[row >> 3] = (this.#bits[row >> 3] ?? 0) & ~(1 << (row & 7));
    this.#nulls += 1;
  }

  /** Returns the number of nulls and the bits of `rows` rows, the lowest first; no bits if there is no null. */
  bytes(rows: number): { readonly nulls: number; readonly validity: Uint8Array } {
    if (this.#nulls === 0) return { nulls: 0, validity: new Uint8Array(0) };
    const length = (rows + 7) >> 3;
    if (length > this.#bits.length) {
      const bits = new Uint8Array(length).fill(0xff);
      bits.set(this.#bits);
      this.#bits = bits;
    }
    return { nulls: this.#nulls, validity: this.#bits.subarray(0, length) };
  }

  clear(): void {
    if (this.#nulls > 0) this.#bits.fill(0xff);
    this.#nulls = 0;
  }
}
