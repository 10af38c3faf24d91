import { LeadstreamError, reasonOf } from '../core/index.js';
import { reworded } from './failure.js';
import { lockOutputs, type Lock } from './lock.js';
import {
  changedOutputs,
  forgetCommit,
  giveUp,
  loggedCommits,
  readCommit,
  type LogEntry,
  type LoggedCommit,
  type StoredCommit,
} from './redo-log.js';

/** Options for `recoverCommits`. */
export interface RecoveryOptions {
  /** The recovering run, which is named in the locks it takes. */
  readonly runId: string;
  /** Outputs that the caller has locked. Absolute paths. Default: none. */
  readonly held?: readonly string[];
  /** Selects the commits to recover. Default: all. */
  readonly only?: (commit: LoggedCommit) => boolean;
  /** Does the remaining work of a commit after its actions; called before the commit is removed from the log. */
  readonly settle?: (commit: LoggedCommit) => Promise<void>;
}

/**
 * Carries out the commits logged by killed runs, oldest first. Call it before anything else is done to the outputs,
 * because opening an output removes the sources of the actions.
 *
 * Outputs of a commit that the caller does not hold are locked meanwhile. A commit whose outputs are held by a living run is left to that run, but
 * if it shares an output with the caller, the caller must wait.
 *
 * The whole log is read before anything is done. Only the outputs named by a commit are touched, and all of a commit is checked before anything is changed.
 *
 * @param folder The redo log, in the state folder; nothing is done if it is missing.
 * @returns The recovered commits.
 * @throws {SinkError} `E_SINK_WRITE`, `E_SINK_VERIFY` or `E_SINK_FOREIGN` if a commit cannot be carried out: it
 * stays in the log, and the message explains how to give it up.
 * @throws {LeadstreamError} `E_RUN_LOCKED` if the caller must wait; `E_STATE_VERSION` for a commit that this version cannot read; `E_STATE_FOREIGN` if the
 * folder or a commit was not created by leadstream for this user.
 */
export async function recoverCommits(folder: string, options: RecoveryOptions): Promise<readonly StoredCommit[]> {
  const recovered: StoredCommit[] = [];
  for (const entry of await loggedCommits(folder)) {
    const { only = () => true } = options;
    if (only(entry.commit) && (await recover(folder, entry, options))) recovered.push(entry.commit);
  }
  return recovered;
}

/** @returns Whether this call carried it out. */
async function recover(folder: string, { path, commit }: LogEntry, options: RecoveryOptions): Promise<boolean> {
  const { runId, held = [], settle } = options;
  // Outputs that no action changes are irrelevant to a commit, even if it lists them.
  const lock = await lockRest(changedOutputs(commit, path), held, runId).catch((failure: unknown) => {
    if (failure instanceof LeadstreamError && failure.code === 'E_RUN_LOCKED') throw failure;
    throw reworded(failure, `cannot recover ${path}: ${reasonOf(failure)}; ${giveUp(path)}`);
  });
  if (lock === undefined) return false;
  try {
    // The run that held the locks until now may have carried it out itself.
    if ((await readCommit(path)) === undefined) return false;
    await replay(commit, path);
    await settle?.(commit);
    await forgetCommit(folder, commit.runId);
    return true;
  } finally {
    await lock.release();
  }
}

/** Locks the outputs that the caller does not hold; returns `undefined` if a living run holds one and the caller has no share in the commit. */
async function lockRest(outputs: readonly string[], held: readonly string[], runId: string): Promise<Lock | undefined> {
  const rest = outputs.filter((output) => !held.includes(output));
  try {
    return await lockOutputs(rest, { runId });
  } catch (failure) {
    const shared = rest.length < outputs.length;
    if (!shared && failure instanceof LeadstreamError && failure.code === 'E_RUN_LOCKED') return undefined;
    throw failure;
  }
}

async function replay(commit: StoredCommit, path: string): Promise<void> {
  try {
    const prepared = await commit.store.prepare(commit);
    await prepared.commit();
  } catch (failure) {
    const what = `cannot recover the commit that run ${commit.runId} logged at ${commit.loggedAt}`;
    throw reworded(failure, `${what}: ${reasonOf(failure)}; ${giveUp(path)}`);
  }
}
