import { GateError, type OutputColumn, SinkError, type Warning } from '../core/index.js';
import type { FileContent, PartialFile } from '../store/index.js';
import type { AddedFile, FoundVersion, LakeTable, PartitionField } from './format.js';
import { type Manifest, type ManifestFile, type modes, sumOf } from './manifest.js';
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
export async function manifestBefore(table: LakeTable, version: FoundVersion, mode: Mode, { at, runLog, warn }: LandingContext) {
  const { older, current, lost } = version;
  if (lost !== undefined) return lostBefore(table, lost, mode, { at, warn });
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

/**
 * A link that is missing although runs were published was lost, as in a backup without links. A run that replaces the whole table warns
 * about it, and keeps the newest that was shown. A run that adds to the table is refused, because it cannot know what to add to.
 */
async function lostBefore(
  table: LakeTable,
  { message, remedy, shown }: NonNullable<FoundVersion['lost']>,
  mode: Mode,
  { at, warn }: Pick<LandingContext, 'at' | 'warn'>,
): Promise<Manifest | undefined> {
  if (mode !== 'replace') throw new SinkError('E_SINK_RUN', `${at}: ${message}; ${remedy}`);
  warn?.({ code: 'W_SINK_LINK', message: `${at}: ${message}; the link is created again` });
  return shown && (await table.manifest(shown)).manifest;
}

/** The manifest of the newest run, with the files that another writer has made of its files since. */
export function withLive(manifest: Manifest, { files }: Pick<FoundVersion, 'files'>): Manifest {
  const known = new Map(manifest.files.map((file) => [file.name, file]));
  if (files.length === known.size && files.every(({ name }) => known.has(name))) return manifest;
  const { keys: _, ...rest } = manifest;
  return { ...rest, bytes: sumOf(files, 'bytes'), files: files.map((file) => known.get(file.name) ?? { ...file }) };
}
