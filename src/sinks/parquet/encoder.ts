import type { Value } from '../../collections/index.js';
import type { OutputColumn, Refuses } from '../projection.js';

export type Compression = 'snappy' | 'gzip' | 'none';
export type EngineName = 'hyparquet' | 'parquetjs-lite';

/** Where an encoder puts its bytes. Resolves when they are taken; one call at a time. */
export interface ByteTarget {
  append(bytes: Uint8Array): Promise<void>;
}

/**
 * Writes one Parquet file. It knows row groups only: what is in memory is one of them, as given by the caller, and its
 * encoded bytes. Every column is optional; the same calls give the same bytes.
 */
export interface ParquetEncoder {
  /**
   * Encodes and stores one row group. The caller leaves the arrays alone until then.
   *
   * @param columns One array of `rows` values per column, each in the column's declared type or `null`.
   * @throws {SinkError} `E_SINK_WRITE`, or `E_SINK_VALUE` for a value that the engine cannot write.
   */
  writeGroup(columns: readonly (readonly Value[])[], rows: number): Promise<void>;
  /** Writes the footer. Closing the file is the caller's. */
  finish(): Promise<void>;
}

/** A library that encodes Parquet. */
export interface ParquetEngine {
  /** What the library cannot hold although the type can; such a value counts as one that does not cast. */
  readonly refuses?: Refuses;
  /**
   * Begins a file.
   *
   * @throws {SinkError} `E_SINK_VALUE` when a column cannot have its name.
   */
  open(target: ByteTarget, columns: readonly OutputColumn[], compression: Compression): Promise<ParquetEncoder>;
}

/** Loads an engine on first use, so that nobody waits for the other. */
export async function loadEngine(name: EngineName): Promise<ParquetEngine> {
  if (name === 'hyparquet') return (await import('./engines/hyparquet.js')).hyparquetEngine;
  return (await import('./engines/parquetjs-lite.js')).parquetjsLiteEngine;
}

const msPerDay = 86_400_000;

/** Days since 1970 of an instant, rounded down: what Parquet's DATE holds. */
export function daysOf(date: Date): number {
  return Math.floor(date.getTime() / msPerDay);
}
