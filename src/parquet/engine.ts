import type { OutputColumn, Refuses } from '../core/index.js';
import type { Batch } from '../vector/index.js';
import type { Compression } from './storage.js';

/** A column by which the rows of every row group are sorted; nulls come last. */
export interface SortKey {
  /** Name of the output column. */
  readonly column: string;
  readonly descending: boolean;
}

/** How a file is encoded. It depends on nothing that differs from run to run. */
export interface Encoding {
  readonly compression: Compression;
  /** Of zstd; 1 is fast, 19 is small. Default: the engine's. */
  readonly level?: number | undefined;
  /** Names of the output columns that get a bloom filter, if they are of `bloomTypes`. */
  readonly bloomFilters: readonly string[];
  /** Whether pages have statistics of their own (a column index). Pages are smaller then. */
  readonly columnIndex: boolean;
  /** What the footer says of the order in row groups. The caller sorts. */
  readonly sortedBy: readonly SortKey[];
  /** Key-value metadata of the file, besides `leadstream.original_names`. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Where an encoder puts its bytes. Resolves when they are taken; one call at a time. */
export interface ByteTarget {
  append(bytes: Uint8Array): Promise<void>;
}

/** When a row group is complete, and in which order its rows are. */
export interface GroupPlan {
  /** Rows that close it, at least 1. */
  readonly rows: number;
  /** Texts that close it, in bytes of UTF-8, however few its rows are. */
  readonly text: number;
  /** By what its rows are sorted when they are taken; those that are equal in it keep their order. */
  readonly sortedBy: readonly SortKey[];
  /** Whether thousands of row groups of a few rows each may wait at a time. */
  readonly many: boolean;
}

/** The rows that wait to be encoded, in the form `G` that an engine takes them in. It holds them all. */
export interface RowGroup<G = unknown> {
  readonly rows: number;
  /** How many more rows it takes. */
  readonly room: number;
  add(batch: Batch, from: number, to: number): void;
  /** Hands the rows over, sorted, and begins anew. What an earlier call gave must have been written by then. */
  take(): G;
}

/**
 * Writes one Parquet file. It knows row groups only: what is in memory is one of them, as given by the caller, and its
 * encoded bytes. Every column is optional; the same calls give the same bytes.
 */
export interface ParquetEncoder<G = unknown> {
  /**
   * Encodes and stores what a row group of the same engine and columns gave, which is the encoder's from then on. One call at a
   * time.
   *
   * @throws {SinkError} `E_SINK_WRITE`, or `E_SINK_VALUE` for a value that the engine cannot write.
   */
  writeGroup(group: G): Promise<void>;
  /** Writes the footer. Closing the file is the caller's. */
  finish(): Promise<void>;
}

/** A library that encodes Parquet, for one table. `G` is its own affair: what its row groups give goes into its encoders. */
export interface ParquetEngine<G = unknown> {
  /** What the library cannot hold although the type can; such a value counts as one that does not cast. */
  readonly refuses?: Refuses;
  /** @throws {SinkError} `E_SINK_VALUE` when a sort key names no column. */
  rowGroup(columns: readonly OutputColumn[], plan: GroupPlan): RowGroup<G>;
  /**
   * Begins a file.
   *
   * @throws {SinkError} `E_SINK_VALUE` when a column cannot have its name.
   */
  open(target: ByteTarget, columns: readonly OutputColumn[], encoding: Encoding): Promise<ParquetEncoder<G>>;
  /** Gives back what encoders share. Called when all files are finished or given up, more than once perhaps. */
  close?(): Promise<void>;
}

/** The key-value metadata of a file, sorted by key: what the caller wants, and each column's name at the service. */
export function metadataOf(columns: readonly OutputColumn[], { metadata }: Encoding): [key: string, value: string][] {
  const names = JSON.stringify(Object.fromEntries(columns.map(({ name, original }) => [name, original])));
  return Object.entries({ ...metadata, 'leadstream.original_names': names }).sort(([a], [b]) => (a < b ? -1 : 1));
}
