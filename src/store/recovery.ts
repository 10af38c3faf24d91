import { LeadstreamError, reasonOf } from '../core/index.js';
import { reworded } from './failure.js';
import { lockOutputs, type Lock } from './lock.js';
import { changedOutputs, giveUp, type LoggedCommit, type StoredCommit } from './logged-commit.js';
import { forgetCommit, loggedCommits, readCommit, type LogEntry } from './redo-log.js';

/** What `recoverCommits` works on. */
export interface RecoveryOptions {
  /** Run that recovers; locks that it needs bear its name. */
  readonly runId: string;
  /** Outputs that the caller has locked. Absolute paths. Default: none. */
  readonly held?: readonly string[];
  /** Which commits are recovered. Default: all. */
  readonly only?: (commit: LoggedCommit) => boolean;
  /** Does what is left to do of a commit beside its actions; called when these are done, before it is removed from the log. */
  readonly settle?: (commit: LoggedCommit) => Promise<void>;
}

/**
 * Carries out the commits that killed runs had logged, oldest first. It comes before anything else is done to the outputs, because opening an
 * output removes what the actions start from.
 *
 * Outputs of a commit that the caller does not hold are locked meanwhile. A commit whose outputs are held by a living run is that run's own
 * business; but when it shares an output with the caller, the caller has to wait.
 *
 * Everything in the log is read before anything is done. Nothing but the outputs that a commit names is touched, and of a commit everything is
 * checked before anything is changed.
 *
 * @param folder The redo log, in the state folder; nothing is done when it is missing.
 * @returns What was recovered.
 * @throws {SinkError} `E_SINK_WRITE`, `E_SINK_VERIFY` or `E_SINK_FOREIGN` when a commit cannot be carried out: it stays, and the message says
 * how to give it up.
 * @throws {LeadstreamError} `E_RUN_LOCKED` as said; `E_STATE_VERSION` for a commit that is not understood here; `E_STATE_FOREIGN` when the folder
 * or a commit was not made by leadstream for this user.
 */
export async function recoverCommits(folder: string, options: RecoveryOptions): Promise<readonly StoredCommit[]> {
  const recovered: StoredCommit[] = [];
  for (const entry of await loggedCommits(folder)) {
    const { only = () => true } = options;
    if (only(entry.commit) && (await recover(folder, entry, options))) recovered.push(entry.commit);
  }
  return recovered;
}

/** @returns Whether it was this call that carried it out. */
async function recover(folder: string, { path, commit }: LogEntry, options: RecoveryOptions): Promise<boolean> {
  const { runId, held = [], settle } = options;
  // An output that no action changes is none of a commit's business, whatever it says.
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

/** Locks the outputs that the caller does not hold; `undefined` when they are none of its business. */
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
