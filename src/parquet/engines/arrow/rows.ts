import { itemAt, type DeclaredType, type OutputColumn, type Value } from '../../../core/index.js';
import { Batch, daysOf, FlatVector, longer, Utf8Builder, Validity } from '../../../vector/index.js';
import type { ColumnBuilder, ColumnBytes, Vector } from '../../../vector/index.js';
import { type GroupPlan, RowGroup } from '../../engine.js';
import { RowValues } from '../../row-values.js';

/** A row group for the encoder, in one buffer, which can be transferred. */
export interface GroupBytes {
  readonly stream: Uint8Array<ArrayBuffer>;
  /** The columns whose values rarely repeat. */
  readonly plain: readonly string[];
}

export interface ReusedBytes extends GroupBytes {
  /** Returns the stream's buffer for the next row group. */
  takeBack(buffer: ArrayBuffer): void;
}

/** Collects row groups as bytes; but rows to sort and thousands of groups as values, in a third of the memory until they are taken. */
export function rowGroup(columns: readonly OutputColumn[], plan: GroupPlan): RowGroup<ReusedBytes> {
  if (!plan.many && plan.sortedBy.length === 0) return new RowBytes(columns, plan);
  return new RowValues(columns, plan, ({ rows, columns: arrays }) => {
    const vectors = arrays.map((array) => new FlatVector(array));
    const bytes = new RowBytes(columns, { rows, text: Infinity });
    bytes.add(new Batch(rows, vectors), 0, rows);
    return bytes.take();
  });
}

/** Turns values into bytes as they arrive, in reused memory: no value stays an object until its row group is complete. */
class RowBytes extends RowGroup<ReusedBytes> {
  readonly #stream: ArrowStream;
  readonly #builders: readonly ColumnBuilder[];

  constructor(
    private readonly columns: readonly OutputColumn[],
    plan: Pick<GroupPlan, 'rows' | 'text'>,
  ) {
    super(plan);
    this.#stream = new ArrowStream(columns);
    this.#builders = columns.map(({ type }) => (type === 'text' ? new Utf8Builder() : new Scalars(layouts[type])));
  }

  protected append(batch: Batch, from: number, to: number): number {
    return this.#builders.reduce((text, builder, index) => text + builder.append(batch.column(index), from, to), 0);
  }

  protected firstRows(rows: number): ReusedBytes {
    const bytes = this.#builders.map((builder) => builder.bytes(rows));
    const stream = this.#stream.write(bytes, rows);
    const plain = this.columns.filter((_, index) => !bytes[index]?.repeats).map(({ name }) => name);
    for (const builder of this.#builders) builder.clear();
    return { stream, plain, takeBack: (buffer) => this.#stream.takeBack(buffer) };
  }
}

interface Layout {
  readonly bits: 1 | 32 | 64;
  readonly put: (view: DataView, row: number, value: Value) => void;
}

const layouts: Readonly<Record<Exclude<DeclaredType, 'text'>, Layout>> = {
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

class Scalars implements ColumnBuilder {
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

  bytes(rows: number): ColumnBytes {
    const data = new Uint8Array(this.#view.buffer, 0, this.#bytesOf(rows));
    return { ...this.#validity.bytes(rows), offsets: new Uint8Array(0), data, repeats: true };
  }

  clear(): void {
    this.#validity.clear();
    this.#rows = 0;
  }

  #makeRoom(rows: number): void {
    const needed = this.#bytesOf(rows);
    if (needed <= this.#view.byteLength) return;
    const bytes = longer(new Uint8Array(this.#view.buffer), Math.max(this.#view.byteLength * 2, needed));
    this.#view = new DataView(bytes.buffer);
  }

  #bytesOf(rows: number): number {
    return Math.ceil((rows * this.layout.bits) / 8);
  }
}

/**
 * Writes row groups in Arrow's IPC streaming format: the schema, then the rows as a record batch.
 * @see https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc
 */
class ArrowStream {
  readonly #schema: Uint8Array;
  #buffer = new ArrayBuffer(0);

  constructor(columns: readonly OutputColumn[]) {
    this.#schema = message(headers.schema, table(whole(0), list(columns.map(fieldOf))), 0);
  }

  /** Returns the stream of a row group. The next one reuses its buffer, unless a thread has it. */
  write(columns: readonly ColumnBytes[], rows: number): Uint8Array<ArrayBuffer> {
    const parts = columns.flatMap(({ validity, offsets, data }) => (offsets.length > 0 ? [validity, offsets, data] : [validity, data]));
    const places: number[] = [];
    let length = 0;
    for (const part of parts) {
      places.push(length, part.length);
      length += padded(part.length);
    }
    const nodes = columns.flatMap(({ nulls }) => [rows, nulls]);
    const batch = message(headers.recordBatch, table(whole(rows), structs(2, nodes), structs(2, places)), length);
    const body = this.#schema.length + batch.length;
    const total = body + length + end.length;
    // A transferred buffer has length 0.
    if (this.#buffer.byteLength < total) this.#buffer = new ArrayBuffer(Math.ceil(total * 1.1));
    const stream = new Uint8Array(this.#buffer, 0, total);
    stream.set(this.#schema);
    stream.set(batch, this.#schema.length);
    for (const [index, part] of parts.entries()) stream.set(part, body + itemAt(places, index * 2));
    stream.set(end, body + length);
    return stream;
  }

  takeBack(buffer: ArrayBuffer): void {
    this.#buffer = buffer;
  }
}

const headers = { schema: 1, recordBatch: 3 } as const;
const version5 = 4;
const end = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

function message(type: number, header: Field, bodyLength: number): Uint8Array {
  const writer = new FlatWriter();
  table(whole(version5), whole(type), header, whole(bodyLength))(writer, writer.reserve(8));
  const metadata = writer.bytes;
  const bytes = new Uint8Array(8 + metadata.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0xffff_ffff, true);
  view.setInt32(4, metadata.length, true);
  bytes.set(metadata, 8);
  return bytes;
}

const types: Readonly<Record<DeclaredType, readonly [number: number, table: Field]>> = {
  text: [5, table()],
  flag: [6, table()],
  integer: [2, table(whole(64), whole(1))],
  decimal: [3, table(whole(2))],
  timestamp: [10, table(whole(2), string('UTC'))],
  date: [8, table(whole(0))],
};

function fieldOf({ name, type }: OutputColumn): Field {
  const [number, fields] = types[type];
  return table(string(name), whole(1), whole(number), fields, undefined, list([]));
}

function padded(bytes: number): number {
  return (bytes + 7) & ~7;
}

/**
 * A field of a FlatBuffers table, as far as Arrow's messages need it. It writes its value at a position, and what does not fit there at the
 * end.
 * @see https://flatbuffers.dev/internals
 */
type Field = (to: FlatWriter, at: number) => void;

/** A whole number from 0, of any width: all fields have 8 bytes, the lowest first. */
function whole(value: number): Field {
  return ({ view }, at) => view.setBigInt64(at, BigInt(value), true);
}

function string(value: string): Field {
  return (to, at) => {
    const bytes = Buffer.from(value);
    const start = to.referred(at, 4 + bytes.length + 1);
    to.view.setUint32(start, bytes.length, true);
    new Uint8Array(to.view.buffer).set(bytes, start + 4);
  };
}

/** A table of fields by position in the schema; `undefined` omits one. */
function table(...fields: readonly (Field | undefined)[]): Field {
  return (to, at) => {
    const vtable = to.reserve(4 + fields.length * 2);
    const start = to.referred(at, 8 + fields.length * 8);
    to.view.setUint16(vtable, 4 + fields.length * 2, true);
    to.view.setUint16(vtable + 2, 8 + fields.length * 8, true);
    to.view.setInt32(start, start - vtable, true);
    for (const [index, field] of fields.entries()) {
      if (!field) continue;
      to.view.setUint16(vtable + 4 + index * 2, 8 + index * 8, true);
      field(to, start + 8 + index * 8);
    }
  };
}

function list(tables: readonly Field[]): Field {
  return (to, at) => {
    const start = to.referred(at, 4 + tables.length * 4);
    to.view.setUint32(start, tables.length, true);
    for (const [index, item] of tables.entries()) item(to, start + 4 + index * 4);
  };
}

/** A vector of structs of `width` 64-bit numbers. Its length precedes the first struct, which is aligned to 8. */
function structs(width: number, values: readonly number[]): Field {
  return (to, at) => {
    const start = to.referred(at, 8 + values.length * 8, 4);
    to.view.setUint32(start, values.length / width, true);
    for (const [index, value] of values.entries()) to.view.setBigInt64(start + 4 + index * 8, BigInt(value), true);
  };
}

/** Writes parents before children. Each field takes 8 bytes, so that everything is aligned. */
class FlatWriter {
  view = new DataView(new ArrayBuffer(1024));
  #end = 0;

  get bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.view.buffer, 0, this.#end);
  }

  /** Reserves zeroed bytes at the end, rounded up to a multiple of 8. */
  reserve(bytes: number): number {
    const start = this.#end;
    this.#end += (bytes + 7) & ~7;
    if (this.#end > this.view.byteLength) this.view = new DataView(longer(new Uint8Array(this.view.buffer), this.#end * 2).buffer);
    return start;
  }

  /** Reserves bytes, and points the field at a position to them, `skipped` bytes from their start. */
  referred(at: number, bytes: number, skipped = 0): number {
    const target = this.reserve(bytes) + skipped;
    this.view.setUint32(at, target - at, true);
    return target;
  }
}
