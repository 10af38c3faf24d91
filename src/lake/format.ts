import type { OutputColumn, Value } from '../core/index.js';
import type { ColumnStatistics } from '../parquet/index.js';
import type { Action } from '../store/index.js';
import type { LiveFile, Manifest, ManifestFile } from './manifest.js';
import type { PartitionField, TableKind } from './partitions.js';

export type { ColumnStatistics, PartitionField };

/** A data file that a run wrote. */
export interface AddedFile extends ManifestFile {
  /** Values of the columns of `partition_by`, in that order; for a transform its result, months or days since 1970 as `bigint`. */
  readonly partition: readonly Value[];
  /** By the name of the column in the file. */
  readonly statistics: ReadonlyMap<string, ColumnStatistics>;
}

/** Returns what a manifest says of a file. */
export function manifestFileOf({ partition: _partition, statistics: _statistics, ...file }: AddedFile): ManifestFile {
  return file;
}

/** A run that committed a version. */
export interface CommittedRun {
  readonly run: string;
  /** SHA-256 of its manifest, in hexadecimal. */
  readonly sha256: string;
}

/** A state of a table that readers can see. `T` is what its format needs to commit the next one, such as an ETag. */
export interface TableVersion<T = unknown> {
  /** Larger than those of all versions before it. */
  readonly sequence: number;
  /** The newest run of leadstream up to this version; `undefined` if there is none. */
  readonly current: CommittedRun | undefined;
  /** Earlier runs to which the table can return, the newest first. */
  readonly kept: readonly CommittedRun[];
  /** The data files that readers see. They differ from those in the manifest of `current` after a compaction by another writer. */
  readonly files: readonly LiveFile[];
  /** The file with the current metadata of Iceberg. */
  readonly metadata?: string | undefined;
  /** All runs that the table knows to have committed. Objects of others are removed once there is a version after the one that they began with. */
  readonly runs: readonly string[];
  readonly state: T;
}

/** A version, and what is known of it from elsewhere. */
export interface FoundVersion extends TableVersion {
  /** Runs with a manifest that are neither current nor kept: the next run recovers or removes them. */
  readonly unfinished?: readonly CommittedRun[];
  /** The run whose commit began and did not complete. */
  readonly interrupted?: string | undefined;
  /** Why it is not the newest version, as a sentence. */
  readonly older?: string | undefined;
  /** Set if there are runs, but nothing says which one is current. */
  readonly lost?: { readonly message: string; readonly remedy: string; readonly shown: CommittedRun | undefined } | undefined;
}

/** By the name of the column. */
export type FieldIds = ReadonlyMap<string, number>;

/** What a run changes. */
export interface TableChange {
  readonly runId: string;
  readonly manifest: Manifest;
  /** SHA-256 of the manifest as it is stored, in hexadecimal. */
  readonly sha256: string;
  readonly columns: readonly OutputColumn[];
  readonly partitions: readonly PartitionField[];
  readonly added: readonly AddedFile[];
  /** Names of files of the base that are no longer part of the table. */
  readonly removed: readonly string[];
  /** Number of earlier runs to keep. */
  readonly keep: number;
}

/** What all formats have in common. */
interface FormatBase<T> {
  readonly kind: TableKind;
  /** Path of the folder whose tables are published together, if this is one of them. */
  readonly together?: string;
  /** Shows readers of this machine what is published, if they do not see it by themselves. */
  show?(): Promise<void>;
  /** Returns the current version; `undefined` if there is no table yet. */
  load(): Promise<TableVersion<T> | undefined>;
  /** Refuses what other programs made of the table since our last run, as far as its rows would not be the same ones. @throws {SinkError} `E_SINK_FOREIGN`. */
  check?(base: TableVersion<T>, mode: Manifest['mode']): void;
  /**
   * Refuses columns and partitions that the table cannot have.
   *
   * @returns The ids of columns in files, by name, if the format has ids.
   * @throws {SinkError} `E_SINK_VALUE`. @throws {GateError} `E_GATE_SCHEMA` if they do not fit what runs or other programs made of the table.
   */
  checkColumns?(
    base: TableVersion<T> | undefined,
    columns: readonly OutputColumn[],
    partitions: readonly PartitionField[],
  ): FieldIds | undefined;
}

/**
 * How a table on a store names its current state: by a pointer, Iceberg metadata, or a Delta log. Data files, manifests and key indexes are not its concern.
 *
 * @throws {SinkError} `E_SINK_FOREIGN` for a table that it does not understand, or that another writer owns.
 */
export interface TableFormat<T = unknown> extends FormatBase<T> {
  readonly link?: undefined;
  /** Creates what the first commit replaces, if it needs that. */
  create?(): Promise<void>;
  /**
   * Commits a change of the base, and returns when its outcome is decided: an attempt without a clear answer is looked up by its run before it is repeated.
   *
   * @param base The version that the run began with, never one read later.
   * @throws {LeadstreamError} `E_RUN_LOCKED` if another writer committed first.
   */
  commit(base: TableVersion<T> | undefined, change: TableChange): Promise<TableVersion<T>>;
  /** Says what a run is going to commit, `undefined` if nothing, for a table that is committed together with others. */
  announce?(run: string, base: TableVersion<T> | undefined, change: TableChange | undefined): void;
  /** Returns when the others are committed, if the table itself stays as it is. */
  stay?(run: string): Promise<unknown>;
  /** Takes back what was announced. @returns Whether it may be committed all the same. */
  withdraw?(): Promise<boolean>;
  /** Returns to a run in `base.kept`, as a new version. */
  restore(base: TableVersion<T>, run: string): Promise<TableVersion<T>>;
  /**
   * Forgets earlier runs beyond the newest `keep`, in a commit of its own if need be.
   *
   * @param dropped Runs that committed, whose manifests are there, and which are neither current nor kept in `base`.
   * @returns The data and metadata objects that no version reaches any more, by key.
   */
  expire(base: TableVersion<T>, keep: number, dropped: readonly string[]): Promise<readonly string[]>;
}

/** How a plain table of this machine names its current run: by a link, which an action of the redo log puts in place. */
export interface LinkedFormat extends FormatBase<unknown> {
  /** As users write the path of the table. */
  readonly link: string;
  /** Repairs what readers see of the table, and gives one of an earlier version this layout. The caller holds the lock. */
  begin(): Promise<void>;
  load(): Promise<FoundVersion | undefined>;
  /** Reads a manifest, and its text. */
  manifest(run: string): Promise<{ readonly text: string; readonly manifest: Manifest | undefined }>;
  /** Returns the path of a stored file, by its name in the manifest or its key. @throws {SinkError} `E_SINK_FOREIGN` for a link. */
  pathOf(key: string): Promise<string>;
  /** Returns the folder in which readers see a run. */
  view(run: string): string;
  /**
   * Prepares the commit of a run, whose files are stored. Nothing has changed for readers then.
   *
   * @returns The actions, in order.
   */
  prepare(manifest: Manifest, permissions: number): Promise<readonly Action[]>;
  /** Returns the actions that return to a run, or that accept the current one. */
  restore(base: FoundVersion, run: string): Promise<readonly Action[]>;
  /** Returns the kept runs that stay. */
  keeping(base: FoundVersion, keep: number): Promise<readonly CommittedRun[]>;
  /** As of a store. */
  expire: TableFormat['expire'];
  /**
   * Removes objects, and before them what readers saw of a run, or were to see.
   *
   * @param run Default: all but the one that they see.
   */
  remove(keys: readonly string[], run?: string): Promise<void>;
}
