import { GateError, type OutputColumn, SinkError, type Warning } from '../core/index.js';
import type { Action, FileContent, PartialFile } from '../store/index.js';
import type { AddedFile, FieldIds, FoundVersion, LakeTable, PartitionField } from './format.js';
import { type Manifest, type ManifestFile, type modes, sumOf } from './manifest.js';
import type { TableKind } from './partitions.js';
import type { RunLog } from './run-log.js';

export type Mode = (typeof modes)[number];

export interface LandingOptions {
  readonly mode: Mode;
  readonly permissions: number;
  readonly keep: number;
}

export interface LandingContext {
  readonly at: string;
  readonly runId: string;
  readonly runLog?: RunLog | undefined;
  readonly warn?: ((warning: Warning) => void) | undefined;
}

/** What a run publishes. */
export interface Publication {
  /** All columns that readers see. */
  readonly columns: readonly OutputColumn[];
  readonly partitions: readonly PartitionField[];
  readonly added: readonly AddedFile[];
  /** Files of the table before that stay in it. */
  readonly retained: readonly ManifestFile[];
  /** Writes the key index, if there is one. */
  readonly storeKeys: ((file: PartialFile) => Promise<void>) | undefined;
  /** @param keys Size and digest of the key index. */
  manifest(keys: FileContent | undefined): Manifest;
}

/**
 * Returns the manifest of the run that a new one begins with. If that keeps files of the table, it vouches for them in its own manifest,
 * so the earlier one is compared with what its run committed, as in `verify`. A table that is not in the log of runs is trusted.
 *
 * @throws {GateError} `E_GATE_VERIFY`. @throws {SinkError} `E_SINK_FOREIGN`.
 */
export async function manifestBefore(table: LakeTable, version: FoundVersion, mode: Mode, { at, runLog }: LandingContext) {
  const { older, current } = version;
  if (older !== undefined) throw new GateError('E_GATE_VERIFY', `${at}: ${older}`);
  if (current === undefined) return undefined;
  const { text, manifest, isUnchanged } = await table.manifest(current);
  const [of, remedy] = [`the manifest of run ${current.run}`, 'return to an earlier run with leadstream rollback'];
  if (manifest === undefined)
    throw new SinkError('E_SINK_FOREIGN', `${at}: ${of} of ${table.path} cannot be read; ${remedy}, or move the table and its runs away`);
  const { difference } = (mode === 'replace' ? undefined : await runLog?.check(table.path, current.run, text, isUnchanged)) ?? {};
  const fault = mode !== 'replace' && isUnchanged === false ? `${of} was changed` : difference;
  if (fault !== undefined)
    throw new GateError('E_GATE_VERIFY', `${at}: mode ${mode} cannot keep files of the table: ${fault}; see leadstream verify`);
  return withLive(manifest, version);
}

/** The manifest of the newest run, with the files that another writer has made of its files since. */
export function withLive(manifest: Manifest, { files }: Pick<FoundVersion, 'files'>): Manifest {
  const known = new Map(manifest.files.map((file) => [file.name, file]));
  if (files.length === known.size && files.every(({ name }) => known.has(name))) return manifest;
  const { keys: _, ...rest } = manifest;
  return { ...rest, bytes: sumOf(files, 'bytes'), files: files.map((file) => known.get(file.name) ?? { ...file }) };
}

/**
 * Where a run of a table stores its files, and how they become the table: `LinkedRun` in folders of this machine, `StoreRun` by a commit on a store.
 * Calls come in this order; `abort` may come at any time before `publish` has been committed.
 */
export interface Landing {
  /** The table's path, as users write it. */
  readonly path: string;
  readonly kind: TableKind;
  /** As `TableFormat.checkColumns`. */
  checkColumns?(columns: readonly OutputColumn[], partitions: readonly PartitionField[]): FieldIds | undefined;
  /** The table before this run. */
  readonly before: Manifest | undefined;
  /** Opens a file for rows of a partition. @returns Its name in the manifest, too. */
  create(folder: string, index: number): Promise<{ readonly name: string; readonly file: PartialFile }>;
  /** Takes a file that is closed and verified. */
  take?(name: string, file: PartialFile): Promise<void>;
  /** Returns the bytes of the key index of the table before; `undefined` if there is none. */
  keys(): Promise<Buffer | undefined>;
  /** Works with a local copy of a data file of the table before. */
  reading<T>(name: string, work: (path: string) => Promise<T>): Promise<T>;
  /** Checks that files of the table before are still what their run wrote. @throws {GateError} `E_GATE_VERIFY`. */
  checkRetained(files: readonly ManifestFile[]): Promise<void>;
  /** Stores everything that the commit needs. @returns The actions that commit the run, in order; none if `commit` does. */
  publish(publication: Publication): Promise<readonly Action[]>;
  /** Commits what no action does. @throws {LeadstreamError} `E_RUN_LOCKED` if another writer committed first. */
  commit?(): Promise<void>;
  /** Removes what the commit made obsolete. */
  cleanup(): Promise<void>;
  /** Removes everything written by this run. */
  abort(): Promise<void>;
}
