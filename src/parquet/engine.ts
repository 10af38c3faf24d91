import type { SchemaElement } from 'hyparquet';
import type { DeclaredType, OutputColumn, Refuses } from '../core/index.js';
import type { Batch } from '../vector/index.js';

export const compressions = ['zstd', 'snappy', 'gzip', 'none'] as const;
export type Compression = (typeof compressions)[number];

/** A sort column of row groups; nulls come last. */
export interface OrderBy {
  readonly column: string;
  readonly descending: boolean;
}

export interface Encoding {
  readonly compression: Compression;
  /** The order within row groups that the footer records. The caller sorts. */
  readonly sortedBy: readonly OrderBy[];
  readonly metadata: Readonly<Record<string, string>>;
  /** Column ids by names in files; only `arrow` can write them. Default: none. */
  readonly fieldIds?: ReadonlyMap<string, number>;
}

/** Where an encoder's bytes go. Resolves when they are accepted; one call at a time. */
export interface ByteTarget {
  append(bytes: Uint8Array): Promise<void>;
}

export interface GroupPlan {
  /** Rows that complete it, at least 1. */
  readonly rows: number;
  /** Bytes of text in UTF-8 that complete it, whatever the number of rows. */
  readonly text: number;
  /** Applied when the rows are taken; rows with equal keys keep their order. */
  readonly sortedBy: readonly OrderBy[];
  /** Whether thousands of small row groups may be pending at a time. */
  readonly many: boolean;
}

/** Rows that are still in the processor's cache when their next column is read. */
const atATime = 256;

/** The rows waiting to be encoded, in the engine's form `G`. */
export abstract class RowGroup<G = unknown> {
  #rows = 0;
  #text = 0;

  protected constructor(private readonly most: Pick<GroupPlan, 'rows' | 'text'>) {}

  get rows(): number {
    return this.#rows;
  }

  get isComplete(): boolean {
    return this.#rows >= this.most.rows || this.#text >= this.most.text;
  }

  /** Adds rows until the group is complete. @returns The index after the last added row. */
  add(batch: Batch, from: number, to: number): number {
    let row = from;
    while (row < to && !this.isComplete) {
      const end = Math.min(to, row + atATime, row + this.most.rows - this.#rows);
      const text = this.#text + this.append(batch, row, end);
      const start = row;
      if (text < this.most.text) [this.#text, row] = [text, end];
      else for (; row < end && !this.isComplete; row += 1) for (const column of batch.columns) this.#text += column.byteLength(row);
      this.#rows += row - start;
    }
    return row;
  }

  /** Returns the rows, sorted, and starts the next group. An earlier result must have been written by then. */
  take(): G {
    const group = this.firstRows(this.#rows);
    this.#rows = 0;
    this.#text = 0;
    return group;
  }

  /** @returns The bytes of their texts in UTF-8. */
  protected abstract append(batch: Batch, from: number, to: number): number;

  /** Returns the first rows, and drops the rest, which belongs to no group. */
  protected abstract firstRows(rows: number): G;
}

/** Writes a Parquet file by row groups. All columns are optional. The same calls produce the same bytes. */
export interface ParquetEncoder<G = unknown> {
  /** Stores a row group, and takes ownership of it. @throws {SinkError} `E_SINK_WRITE`, or `E_SINK_VALUE` for a value it cannot write. */
  writeGroup(group: G): Promise<void>;
  /** Writes the footer. The caller closes the file. */
  finish(): Promise<void>;
}

export interface ParquetEngine<G = unknown> {
  /** Values that the type can hold but the library cannot; they are treated like values that do not cast. */
  readonly refuses?: Refuses;
  /** @throws {SinkError} `E_SINK_VALUE` if a sort key is not a column. */
  rowGroup(columns: readonly OutputColumn[], plan: GroupPlan): RowGroup<G>;
  /** Starts a file. @throws {SinkError} `E_SINK_VALUE` if the engine cannot write a column of that name. */
  open(target: ByteTarget, columns: readonly OutputColumn[], encoding: Encoding): Promise<ParquetEncoder<G>>;
  /** Frees what encoders share. Called after all files are finished or abandoned, possibly more than once. */
  close?(): Promise<void>;
}

/** Returns a file's metadata by key, with the service's name and the comment of each column, for which Parquet has no place. */
export function metadataOf(columns: readonly OutputColumn[], { metadata }: Encoding): [key: string, value: string][] {
  const names = JSON.stringify(Object.fromEntries(columns.map(({ name, original }) => [name, original])));
  const comments = columns.flatMap(({ name, comment }) => (comment === undefined ? [] : [[name, comment]]));
  const commented = comments.length > 0 && { 'leadstream.comments': JSON.stringify(Object.fromEntries(comments)) };
  return Object.entries({ ...metadata, 'leadstream.original_names': names, ...commented }).sort(([a], [b]) => (a < b ? -1 : 1));
}

interface Storage extends Pick<SchemaElement, 'converted_type' | 'logical_type'> {
  readonly type: NonNullable<SchemaElement['type']>;
}

export const storages: Readonly<Record<DeclaredType, Storage>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  flag: { type: 'BOOLEAN' },
  integer: { type: 'INT64' },
  decimal: { type: 'DOUBLE' },
  timestamp: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  date: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
};

export const codecs = { zstd: 'ZSTD', snappy: 'SNAPPY', gzip: 'GZIP', none: 'UNCOMPRESSED' } as const;
