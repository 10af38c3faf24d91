import type { DeclaredType, Value } from '../../../core/index.js';
import { Validity, type ColumnBuilder, type ColumnBytes, type Vector, daysOf } from '../../../vector/index.js';

/** Memory layout of the values of a type. */
export interface Layout {
  readonly bits: 1 | 32 | 64;
  /** Writes a value of the type at a row. */
  readonly put: (view: DataView, row: number, value: Value) => void;
}

export const layouts: Readonly<Record<Exclude<DeclaredType, 'text'>, Layout>> = {
  flag: {
    bits: 1,
    put: (view, row, value) => {
      const [at, bit] = [row >> 3, 1 << (row & 7)];
      const others = view.getUint8(at) & ~bit;
      view.setUint8(at, value === true ? others | bit : others);
    },
  },
  integer: {
    bits: 64,
    put: (view, row, value) => {
      if (typeof value === 'bigint') view.setBigInt64(row * 8, value, true);
    },
  },
  decimal: { bits: 64, put: (view, row, value) => view.setFloat64(row * 8, Number(value), true) },
  timestamp: {
    bits: 64,
    put: (view, row, value) => {
      if (value instanceof Date) putMicros(view, row * 8, value.getTime());
    },
  },
  date: {
    bits: 32,
    put: (view, row, value) => {
      if (value instanceof Date) view.setInt32(row * 4, daysOf(value), true);
    },
  },
};

/** The last millisecond whose microseconds a number represents exactly. */
const exactMs = Math.floor(Number.MAX_SAFE_INTEGER / 1000);

function putMicros(view: DataView, at: number, ms: number): void {
  if (Math.abs(ms) > exactMs) return view.setBigInt64(at, BigInt(ms) * 1000n, true);
  const micros = ms * 1000;
  const high = Math.floor(micros / 0x1_0000_0000);
  view.setUint32(at, micros - high * 0x1_0000_0000, true);
  view.setInt32(at + 4, high, true);
}

/** A column of fixed-size values. */
export class Scalars implements ColumnBuilder {
  readonly #validity = new Validity();
  #view = new DataView(new ArrayBuffer(0));
  #rows = 0;

  constructor(private readonly layout: Layout) {}

  append(vector: Vector, from: number, to: number): number {
    this.#makeRoom(this.#rows + to - from);
    const { put } = this.layout;
    for (let index = from; index < to; index += 1) {
      const value = vector.value(index);
      if (value === null) this.#validity.setNull(this.#rows);
      else put(this.#view, this.#rows, value);
      this.#rows += 1;
    }
    return 0;
  }

  bytes(): ColumnBytes {
    const data = new Uint8Array(this.#view.buffer, 0, this.#bytesOf(this.#rows));
    return { ...this.#validity.bytes(this.#rows), offsets: new Uint8Array(0), data, repeats: true };
  }

  clear(): void {
    this.#validity.clear();
    this.#rows = 0;
  }

  #makeRoom(rows: number): void {
    const needed = this.#bytesOf(rows);
    if (needed <= this.#view.byteLength) return;
    const bytes = new Uint8Array(Math.max(this.#view.byteLength * 2, needed));
    bytes.set(new Uint8Array(this.#view.buffer));
    this.#view = new DataView(bytes.buffer);
  }

  #bytesOf(rows: number): number {
    return Math.ceil((rows * this.layout.bits) / 8);
  }
}
