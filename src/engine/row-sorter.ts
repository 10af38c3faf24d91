import type * as V8 from 'node:v8';
import { itemAt, type DeclaredType, type Value } from '../core/index.js';
import type { BatchReader } from '../flow/index.js';
import { RecordBatch, type Mapped, type Vector, FlatVector, Utf8Vector } from '../vector/index.js';
import { Database, type DatabaseOptions } from './database.js';
import { plainCast, sqlTypes, sqlValues } from './plain.js';

/** A sort key: a field, the type that its values are compared as (default `text`), and the direction (default ascending). */
export interface SortKey {
  readonly field: string;
  readonly type?: DeclaredType | undefined;
  readonly descending?: boolean | undefined;
}

/**
 * Sorts rows by keys. Equal keys keep their order; `null` comes last. DuckDB sorts only the keys, in a share of the memory, and cannot
 * change fields that it never sees. The rows wait in a scratch file as bytes.
 */
export class RowSorter {
  readonly #casts: readonly { readonly field: string; readonly cast: (vector: Vector) => Mapped }[];
  readonly #keys: Database;
  readonly #bytes = new RowBytes();
  readonly #order: string;
  #isEmpty = true;

  constructor(keys: readonly SortKey[], options: DatabaseOptions) {
    this.#casts = keys.map(({ field, type = 'text' }) => ({ field, cast: plainCast(type) }));
    const columns = keys.map(({ type = 'text' }, index) => [`key${index}`, sqlTypes[type]] as const);
    this.#keys = new Database({ ...Object.fromEntries(columns), place: 'BIGINT', size: 'INTEGER' }, options);
    this.#order = keys.map(({ descending = false }, index) => `key${index} ${descending ? 'DESC' : 'ASC'} NULLS LAST, `).join('');
  }

  /** Returns the values that rows are compared by, and per field why a value does not fit its type. */
  keysOf(batch: RecordBatch): ReadonlyMap<string, Mapped> {
    return new Map(this.#casts.map(({ field, cast }) => [field, cast(batch.columnOrNulls(field))]));
  }

  async add(batch: RecordBatch, keys: readonly Vector[]): Promise<void> {
    if (batch.length === 0) return;
    this.#isEmpty = false;
    const rows = this.#bytes.encode(batch);
    let { at: place } = await this.#keys.keep(Buffer.concat(rows));
    const places = rows.map(({ length }) => BigInt((place += length) - length));
    await this.#keys.append(batch.length, [...keys.map(sqlValues), places, rows.map(({ length }) => length)]);
  }

  async finish(): Promise<BatchReader> {
    if (this.#isEmpty) return { next: () => Promise.resolve(RecordBatch.empty) };
    const next = await this.#keys.sorted('place, size', `${this.#order}place`);
    return {
      next: async () => {
        const chunk = await next();
        if (!chunk) return RecordBatch.empty;
        const [places, sizes] = [itemAt(chunk.columns, 0), itemAt(chunk.columns, 1)];
        const extents = places.map((place, row) => ({ at: Number(place), length: Number(sizes[row]) }));
        return this.#bytes.decode(await this.#keys.kept(extents));
      },
    };
  }

  close(): Promise<void> {
    return this.#keys.close();
  }
}

/**
 * Rows as bytes that restore every value exactly, in the same process. A row is the number of its shape and a word per column: the length
 * of a text, or a mark for `null` or another value. Texts in UTF-8 follow, then the other values, serialized together, instants as numbers:
 * V8 may return dates of another realm.
 */
class RowBytes {
  readonly #shapes: (readonly string[])[] = [];
  readonly #known = new Map<string, number>();

  encode({ length, columns }: RecordBatch): readonly Buffer[] {
    const names = [...columns.keys()];
    const shape = this.#known.get(JSON.stringify(names)) ?? this.#shapes.push(names) - 1;
    this.#known.set(JSON.stringify(names), shape);
    const vectors = [...columns.values()];
    return Array.from({ length }, (_, row) => {
      const head = Buffer.allocUnsafe(word * (1 + vectors.length));
      head.writeInt32LE(shape);
      const [texts, others]: [Uint8Array[], Value[]] = [[], []];
      vectors.forEach((vector, column) => {
        const value = vector instanceof Utf8Vector ? vector.bytes.subarray(vector.start(row), vector.end(row)) : textIn(vector.value(row));
        if (value instanceof Uint8Array) texts.push(value);
        else if (value !== null) others.push(value instanceof Date ? value.getTime() : value);
        head.writeInt32LE(value instanceof Uint8Array ? value.length : kindOf(value), word * (1 + column));
      });
      return Buffer.concat([head, ...texts, ...(others.length > 0 ? [v8().serialize(others)] : [])]);
    });
  }

  /** Restores rows as a batch. A column that some rows lack is `null` there. */
  decode(rows: readonly Uint8Array[]): RecordBatch {
    const bytes = Buffer.concat(rows);
    const columns = new Map<string, Restored>();
    let start = 0;
    for (const [row, { length }] of rows.entries()) {
      const names = itemAt(this.#shapes, bytes.readInt32LE(start));
      let at = start + word * (1 + names.length);
      const others: { readonly column: Restored; readonly isDate: boolean }[] = [];
      names.forEach((name, index) => {
        const column = columns.get(name) ?? new Restored(rows.length);
        columns.set(name, column);
        const size = bytes.readInt32LE(start + word * (1 + index));
        if (size >= 0) column.putText(row, at, (at += size));
        else if (size !== isNull) others.push({ column, isDate: size === isInstant });
      });
      start += length;
      // `encode` wrote it.
      const values = others.length > 0 ? (v8().deserialize(bytes.subarray(at, start)) as Value[]) : [];
      others.forEach(({ column, isDate }, index) => {
        const value = itemAt(values, index);
        column.put(row, isDate ? new Date(Number(value)) : value);
      });
    }
    return new RecordBatch(rows.length, new Map(Array.from(columns, ([name, column]) => [name, column.vector(bytes)])));
  }
}

const word = 4;
const isNull = -1;
const isOther = -2;
const isInstant = -3;

function kindOf(value: Value): number {
  return value === null ? isNull : value instanceof Date ? isInstant : isOther;
}

/** Returns a text as bytes; other values, and texts that a `Utf8Vector` cannot hold, unchanged. */
function textIn(value: Value): Value | Buffer {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0') ? Buffer.from(value) : value;
}

class Restored {
  readonly #bounds: Int32Array;
  readonly #others = new Map<number, Value>();
  #texts = 0;

  constructor(private readonly rows: number) {
    this.#bounds = new Int32Array(2 * rows).fill(-1);
  }

  putText(row: number, start: number, end: number): void {
    this.#bounds[2 * row] = start;
    this.#bounds[2 * row + 1] = end;
    this.#texts += 1;
  }

  put(row: number, value: Value): void {
    this.#others.set(row, value);
  }

  vector(bytes: Buffer): Utf8Vector | FlatVector {
    const texts = new Utf8Vector(bytes, this.#bounds, 0, 2, this.rows);
    if (this.#texts === this.rows) return texts;
    const valueAt = (row: number) => this.#others.get(row) ?? (texts.start(row) < 0 ? null : texts.value(row));
    return new FlatVector(Array.from({ length: this.rows }, (_, row) => valueAt(row)));
  }
}

/** Loaded on demand, since few processes need it. */
function v8(): typeof V8 {
  return process.getBuiltinModule('node:v8');
}
