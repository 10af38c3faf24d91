import type { OutputColumn } from '../core/index.js';
import type { Encoding, ParquetEngine } from '../parquet/index.js';
import type { Before } from './before.js';
import type { TableRunContext } from './context.js';
import type { DataFilesOptions } from './data-files.js';
import type { Mode } from './modes.js';
import type { RunFolder } from './run-folder.js';
import type { Table } from './table.js';

/** How a run changes its table. */
export interface TableRunOptions extends Omit<DataFilesOptions, 'encoding' | 'partitioned'> {
  readonly mode: Mode;
  /** Permissions of the files. */
  readonly permissions: number;
  /** Fields, or the template of the run's date; each is a level of folders. */
  readonly partition_by: readonly string[];
  readonly success_file: boolean;
  /** Number of earlier runs to keep. */
  readonly keep: number;
}

/** The layout of a table. */
export interface TableLayout {
  /** The columns of the batches. */
  readonly columns: readonly OutputColumn[];
  /** Fields that identify a row, for `append`. */
  readonly key: readonly string[];
  /** Returns how to encode files with these columns: those of the table without the ones in its folders. */
  encoding(inFiles: readonly OutputColumn[]): Encoding;
}

/** The state shared by all phases of a run. */
export interface Run {
  readonly table: Table;
  readonly engine: ParquetEngine;
  readonly options: TableRunOptions;
  readonly context: TableRunContext;
  readonly before: Before | undefined;
  /** Where its data files go. */
  readonly folder: RunFolder;
  /** Removes everything written and created for it. */
  remove(): Promise<void>;
}
