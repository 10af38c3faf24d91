import { SinkError } from '../../core/index.js';
import type { CommittedRun } from '../format.js';
import { type Action, type Add, type MetaData, nameIn, type Protocol } from './actions.js';

/** A run, and what the table is at the last version before the next run. */
export interface RunState extends CommittedRun {
  readonly version: number;
  /** By name. */
  readonly files: ReadonlyMap<string, Add>;
  readonly metaData: MetaData;
}

/** What a log says up to a version. */
export interface DeltaState {
  readonly version: number;
  readonly current: RunState;
  /** Earlier runs, the newest first. */
  readonly kept: readonly RunState[];
  /** All runs that committed. */
  readonly runs: ReadonlySet<string>;
  /** Files that are no longer part of the table, by name. */
  readonly removed: ReadonlyMap<string, RemovedFile>;
  /** Number of earlier runs to keep. */
  readonly keep: number;
}

interface RemovedFile {
  /** Milliseconds since 1970; Infinity if its writer did not say. */
  readonly at: number;
  /** Number of runs that committed since it could be deleted. */
  readonly chances: number;
}

/** How long readers may need the files of an earlier version: the default of Delta. */
const retentionMs = 7 * 86_400_000;

/** Number of runs after which a file counts as deleted, although all of them may have been killed before they did. */
const maxChances = 10;

/**
 * Applies the actions of the next version. The only commits of other writers that are accepted are those that change neither rows nor columns.
 *
 * @throws {SinkError} `E_SINK_FOREIGN`.
 */
export function applied(at: string, before: DeltaState | undefined, version: number, actions: readonly Action[]): DeltaState {
  for (const { protocol } of actions) if (protocol) refuseUnknown(at, protocol);
  const info = actions.find(({ commitInfo }) => commitInfo)?.commitInfo;
  const changed = actions.find(({ metaData }) => metaData)?.metaData;
  const isRearranged = !changed && !actions.some(({ add, remove }) => (add ?? remove)?.dataChange);
  const run = info?.leadstream ?? (isRearranged ? before?.current : undefined);
  const metaData = changed ?? before?.current.metaData;
  if (!run || !metaData) {
    const operation = info?.operation ?? 'no operation named';
    throw new SinkError('E_SINK_FOREIGN', `${at}: version ${version} of the Delta table was written by another program (${operation})`);
  }

  const files = new Map(before?.current.files);
  const removed = new Map(before?.removed);
  for (const { add, remove } of actions) {
    const path = (add ?? remove)?.path;
    if (path === undefined) continue;
    const name = nameIn(path);
    if (name === undefined) throw new SinkError('E_SINK_FOREIGN', `${at}: version ${version} has a file outside of the table`);
    files.delete(name);
    removed.delete(name);
    if (add) files.set(name, add);
    else removed.set(name, { at: remove?.deletionTimestamp ?? Infinity, chances: 0 });
  }

  const current: RunState = { run: run.run, sha256: run.sha256, version, files, metaData };
  const earlier = before ? [before.current, ...before.kept] : [];
  const keep = info?.leadstream?.keep ?? before?.keep ?? 0;
  const kept = earlier.filter((other) => other.run !== current.run).slice(0, keep);
  const runs = new Set(before?.runs).add(run.run);
  const state = { version, current, kept, runs, keep, removed };
  return info?.leadstream ? { ...state, removed: aged(state, info.timestamp ?? 0) } : state;
}

/** Returns the removed files that no run needs, and that are old enough. */
export function unreachable({ kept, removed }: DeltaState, now: number): readonly string[] {
  const needed = new Set(kept.flatMap(({ files }) => [...files.keys()]));
  return [...removed].flatMap(([name, { at }]) => (at + retentionMs <= now && !needed.has(name) ? [name] : []));
}

/** Forgets files that were deleted long ago, so that a long log needs no more memory than its last runs. */
function aged(state: DeltaState, now: number): DeltaState['removed'] {
  const removed = new Map(state.removed);
  for (const name of unreachable(state, now)) {
    const { at = Infinity, chances = 0 } = removed.get(name) ?? {};
    if (chances === maxChances) removed.delete(name);
    else removed.set(name, { at, chances: chances + 1 });
  }
  return removed;
}

/** Refuses all that is not in reader version 1 and writer version 2. */
function refuseUnknown(at: string, { minReaderVersion, minWriterVersion, readerFeatures, writerFeatures }: Protocol): void {
  if (minReaderVersion === 1 && minWriterVersion <= 2) return;
  const features = [...new Set([...(readerFeatures ?? []), ...(writerFeatures ?? [])])].join(', ');
  const versions = `reader version ${minReaderVersion} and writer version ${minWriterVersion}`;
  throw new SinkError(
    'E_SINK_FOREIGN',
    `${at}: the Delta table needs ${versions}${features && ` (${features})`}, which leadstream does not know`,
  );
}
