import { itemAt, type DeclaredType, type OutputColumn } from '../../../core/index.js';
import type { ColumnBytes } from '../../../vector/index.js';
import { byte, flatbuffer, int, long, short, string, structs, table, tables, type Field, type Table } from './flatbuffer.js';

/**
 * Writes row groups in Arrow's IPC streaming format: the schema, then the rows as one record batch.
 *
 * @see https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc
 */
export class ArrowStream {
  readonly #schema: Uint8Array;
  #buffer = new ArrayBuffer(0);

  constructor(columns: readonly OutputColumn[]) {
    this.#schema = message(headers.schema, table(short(0), tables(columns.map(fieldOf))), 0);
  }

  /** Returns the stream of one row group. The next one reuses the buffer, unless a thread has it. */
  write(columns: readonly ColumnBytes[], rows: number): Uint8Array<ArrayBuffer> {
    const parts = columns.flatMap(({ validity, offsets, data }) => (offsets.length > 0 ? [validity, offsets, data] : [validity, data]));
    const places: number[] = [];
    let length = 0;
    for (const part of parts) {
      places.push(length, part.length);
      length += padded(part.length);
    }
    const nodes = columns.flatMap(({ nulls }) => [rows, nulls]);
    const batch = message(headers.recordBatch, table(long(rows), structs(2, nodes), structs(2, places)), length);
    const body = this.#schema.length + batch.length;
    const total = body + length + end.length;
    // A buffer transferred to a thread has length 0.
    if (this.#buffer.byteLength < total) this.#buffer = new ArrayBuffer(Math.ceil(total * 1.1));
    const stream = new Uint8Array(this.#buffer, 0, total);
    stream.set(this.#schema);
    stream.set(batch, this.#schema.length);
    for (const [index, part] of parts.entries()) stream.set(part, body + itemAt(places, index * 2));
    stream.set(end, body + length);
    return stream;
  }

  /** Takes back a buffer from a thread. */
  takeBack(buffer: ArrayBuffer): void {
    this.#buffer = buffer;
  }
}

const headers = { schema: 1, recordBatch: 3 } as const;
const version5 = 4;
const end = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

function message(type: number, header: Field, bodyLength: number): Uint8Array {
  const metadata = flatbuffer([short(version5), byte(type), header, long(bodyLength)]);
  const bytes = new Uint8Array(8 + metadata.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0xffff_ffff, true);
  view.setInt32(4, metadata.length, true);
  bytes.set(metadata, 8);
  return bytes;
}

/** The number of each type in the union `Type`, and its table. */
const types: Readonly<Record<DeclaredType, readonly [number: number, table: Field]>> = {
  text: [5, table()],
  flag: [6, table()],
  integer: [2, table(int(64), byte(1))],
  decimal: [3, table(short(2))],
  timestamp: [10, table(short(2), string('UTC'))],
  date: [8, table(short(0))],
};

function fieldOf({ name, type }: OutputColumn): Table {
  const [number, fields] = types[type];
  return [string(name), byte(1), byte(number), fields, undefined, tables([])];
}

function padded(bytes: number): number {
  return (bytes + 7) & ~7;
}
