import { isDeepStrictEqual } from 'node:util';
import { GateError, SinkError } from '../../core/index.js';
import type { CommittedRun } from '../format.js';
import { type DeltaAction, type Add, fieldsOf, foreignChange, type MetaData } from './actions.js';
import { nameIn, type Protocol, recordCountOf } from './actions.js';

/** A run, and what the table is at the last version before the next run. */
export interface RunState extends CommittedRun {
  readonly version: number;
  /** By name. */
  readonly files: ReadonlyMap<string, { readonly add: Add; readonly rows: number }>;
  /** Of all files. */
  readonly rows: number;
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
  /** Names of the columns that other writers added. */
  readonly others: ReadonlySet<string>;
  /** Types of all columns that partitioned the table, when they last did. */
  readonly partitionTypes: ReadonlyMap<string, unknown>;
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
 * Applies the actions of the next version. The only commits of other writers that are accepted are those that change neither rows nor their meaning.
 *
 * @throws {SinkError} `E_SINK_FOREIGN`. @throws {GateError} `E_GATE_VERIFY` if the version is not whole.
 */
export function applyActions(at: string, before: DeltaState | undefined, version: number, actions: readonly DeltaAction[]): DeltaState {
  for (const { protocol } of actions) if (protocol) refuseUnknown(at, protocol);
  const info = actions.find(({ commitInfo }) => commitInfo)?.commitInfo;
  const own = info?.leadstream;
  const changed = actions.find(({ metaData }) => metaData)?.metaData;
  const isRearranged = !actions.some(({ add, remove }) => (add ?? remove)?.dataChange);
  const run = own ?? (isRearranged ? before?.current : undefined);
  const metaData = changed ?? before?.current.metaData;
  const change = changed && before && !own ? foreignChange(before.current.metaData, changed) : '';
  if (!run || !metaData || change !== '') {
    const operation = [info?.operation ?? 'no operation named', change].filter(Boolean).join(': ');
    throw new SinkError('E_SINK_FOREIGN', `${at}: version ${version} of the Delta table was written by another program (${operation})`);
  }
  const known = before && fieldsOf(before.current.metaData);
  const others = new Set(before?.others);
  const partitionTypes = new Map(before?.partitionTypes);
  for (const { name, type } of changed ? fieldsOf(changed).values() : []) {
    if (known && !own && !known.has(name)) others.add(name);
    if (metaData.partitionColumns.includes(name)) partitionTypes.set(name, type);
  }

  const files = new Map(before?.current.files);
  const removed = new Map(before?.removed);
  let rows = before?.current.rows ?? 0;
  for (const { add, remove } of actions) {
    const path = (add ?? remove)?.path;
    if (path === undefined) continue;
    const name = nameIn(path);
    if (name === undefined) throw new SinkError('E_SINK_FOREIGN', `${at}: version ${version} has a file outside of the table`);
    rows -= files.get(name)?.rows ?? 0;
    files.delete(name);
    removed.delete(name);
    if (add) {
      const count = recordCountOf(add);
      if (count === undefined) throw new SinkError('E_SINK_FOREIGN', `${at}: ${name} has no number of records`);
      files.set(name, { add, rows: count });
      rows += count;
    } else removed.set(name, { at: remove?.deletionTimestamp ?? Infinity, chances: 0 });
  }

  const found = { version, actions: actions.length, rows };
  // What another program rearranges has as many rows as before, by some action.
  const said = own ? own.counts : { ...found, actions: actions.length || 1, rows: before?.current.rows };
  if (said && !isDeepStrictEqual(said, found)) {
    const fault = `it has ${rows} rows by ${actions.length} actions, not ${said?.rows} by ${said?.actions}`;
    throw new GateError('E_GATE_VERIFY', `${at}: version ${version} of the Delta table is damaged, or another one: ${fault}`);
  }
  const current: RunState = { run: run.run, sha256: run.sha256, version, files, rows, metaData };
  const earlier = before ? [before.current, ...before.kept] : [];
  const keep = own?.keep ?? before?.keep ?? 0;
  const kept = earlier.filter((other) => other.run !== current.run).slice(0, keep);
  const runs = new Set(before?.runs).add(run.run);
  const state = { version, current, kept, runs, keep, others, partitionTypes, removed };
  return own ? { ...state, removed: aged(state, info?.timestamp ?? 0) } : state;
}

/** Returns the removed files that no run needs, and that are old enough. */
export function unreachable({ current, kept, removed }: DeltaState, now: number): readonly string[] {
  // Who sets another retention than the default has a VACUUM.
  if (current.metaData.configuration?.['delta.deletedFileRetentionDuration'] !== undefined) return [];
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

/** Refuses all that is not in reader version 1 and writer version 2, by its versions and features. */
function refuseUnknown(at: string, protocol: Protocol): void {
  if (protocol.minReaderVersion === 1 && protocol.minWriterVersion <= 2) return;
  throw new SinkError('E_SINK_FOREIGN', `${at}: leadstream does not know the protocol of the Delta table, ${JSON.stringify(protocol)}`);
}
