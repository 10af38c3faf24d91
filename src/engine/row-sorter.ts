import { itemAt, SinkError, type DeclaredType } from '../core/index.js';
import type { BatchReader } from '../flow/index.js';
import { attempt, ScratchFile } from '../store/index.js';
import { RecordBatch, type Mapped, type Vector } from '../vector/index.js';
import { Database, type DatabaseOptions } from './database.js';
import { plainCast, sqlTypes, sqlValues } from './plain.js';
import { RowBytes } from './row-bytes.js';

/** A sort key: a field, the type as which its values are compared (default `text`), and the direction (default ascending). */
export interface SortKey {
  readonly field: string;
  readonly type?: DeclaredType | undefined;
  readonly descending?: boolean | undefined;
}

/**
 * Sorts rows by keys; those with equal keys keep their order, and `null` comes last. DuckDB sorts the keys only: it needs memory for a share of what it sorts,
 * and cannot change fields that it never sees. The rows wait in a scratch file as bytes.
 */
export class RowSorter {
  readonly #casts: readonly { readonly field: string; readonly cast: (vector: Vector) => Mapped }[];
  readonly #keys: Database;
  readonly #bytes = new RowBytes();
  readonly #order: string;
  #file: ScratchFile | undefined;
  #closed = false;

  constructor(
    keys: readonly SortKey[],
    private readonly options: DatabaseOptions,
  ) {
    this.#casts = keys.map(({ field, type = 'text' }) => ({ field, cast: plainCast(type) }));
    const columns = keys.map(({ type = 'text' }, index) => [`key${index}`, sqlTypes[type]] as const);
    this.#keys = new Database({ ...Object.fromEntries(columns), place: 'BIGINT', size: 'INTEGER' }, options);
    this.#order = keys.map(({ descending = false }, index) => `key${index} ${descending ? 'DESC' : 'ASC'} NULLS LAST, `).join('');
  }

  /** Returns the values by which rows are compared, and by field why a value does not fit its type. */
  keysOf(batch: RecordBatch): ReadonlyMap<string, Mapped> {
    return new Map(this.#casts.map(({ field, cast }) => [field, cast(batch.columnOrNulls(field))]));
  }

  /** @param keys As returned by `keysOf`. */
  async add(batch: RecordBatch, keys: readonly Vector[]): Promise<void> {
    if (batch.length === 0) return;
    const rows = this.#bytes.encode(batch);
    let { at: place } = await this.#inScratch(async (file) => file.append(Buffer.concat(rows)));
    const places = rows.map(({ length }) => BigInt((place += length) - length));
    await this.#keys.append(batch.length, [...keys.map(sqlValues), places, rows.map(({ length }) => length)]);
  }

  async finish(): Promise<BatchReader> {
    if (this.#file === undefined) return { next: () => Promise.resolve(RecordBatch.empty) };
    const next = await this.#keys.sorted('place, size', `${this.#order}place`);
    return {
      next: async () => {
        const chunk = await next();
        if (!chunk) return RecordBatch.empty;
        const [places, sizes] = [itemAt(chunk.columns, 0), itemAt(chunk.columns, 1)];
        const extents = places.map((place, row) => ({ at: Number(place), length: Number(sizes[row]) }));
        return this.#inScratch((file) => Promise.resolve(this.#bytes.decode(file.readAll(extents))));
      },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#keys.close();
    await this.#file?.close();
    this.#file = undefined;
  }

  async #inScratch<R>(work: (file: ScratchFile) => Promise<R>): Promise<R> {
    const { folder, failed } = this.options;
    try {
      return await attempt('E_SINK_WRITE', `rows cannot be stored in ${folder}`, async () => work((this.#file ??= await this.#opened())));
    } catch (failure) {
      throw failure instanceof SinkError ? failed(failure.message) : failure;
    }
  }

  /** Opens the scratch file, unless the step was closed while it worked: nothing would close the file then. */
  async #opened(): Promise<ScratchFile> {
    const file = this.#closed ? undefined : await ScratchFile.open(this.options.folder);
    if (file && !this.#closed) return file;
    await file?.close();
    throw this.options.failed('it was closed');
  }
}
