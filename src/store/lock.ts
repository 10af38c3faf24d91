import { setTimeout as wait } from 'node:timers/promises';
import { LeadstreamError } from '../core/index.js';
import { LockFile } from './lock-file.js';
import type { OutputLock } from './store.js';
import { storeOf } from './stores.js';

/** Options for a lock. */
export interface LockOptions {
  /** Run to name in the locks. */
  readonly runId: string;
  /** Time between two heartbeats, in milliseconds; a run without one for a minute is considered dead. Default 15,000. */
  readonly heartbeatMs?: number;
}

/** A run's exclusive right to its outputs. */
export interface Lock {
  /**
   * Checks that the outputs are still locked by this run: a run frozen for more than a minute may have
   * lost them to a run on another host. Called before the commit.
   *
   * @throws {LeadstreamError} `E_RUN_LOCKED`.
   */
  check(): Promise<void>;
  /** Releases our locks and removes what was created for them. Never rejects; may be called twice. */
  release(): Promise<void>;
}

/**
 * Ensures that only one run at a time writes each output: locks each in its store, in the order of their paths. On local disk the lock is a file `.<name>.lock`
 * next to the output. It does not wait: if a living run holds an output, it throws and releases those already locked.
 *
 * A lock is taken over immediately if its process is dead, which can be determined on the same host; a living process there keeps it. Otherwise it is taken
 * over when its last heartbeat is older than a minute, so the clocks of hosts that share outputs must agree to within less than that.
 *
 * @param outputs Absolute paths, existing or not; for a table the link. Missing folders above them are created.
 * @throws {LeadstreamError} `E_RUN_LOCKED` naming output, run, host, process and time.
 * @throws {SinkError} `E_SINK_PATH` if a lock cannot be written; `E_SINK_FOREIGN` if a file of that name is not ours.
 */
export function lockOutputs(outputs: readonly string[], options: LockOptions): Promise<Lock> {
  return lockEach(outputs, options, (output) => storeOf([output]).lock(output, options.runId));
}

/**
 * Locks something in the state folder, by a lock file that only its user can read.
 *
 * @param path Absolute path, existing or not.
 */
export function lockOwn(path: string, options: LockOptions): Promise<Lock> {
  return lockEach([path], options, () => LockFile.take(path, options.runId, 0o600));
}

async function lockEach(
  paths: readonly string[],
  { heartbeatMs = 15_000 }: LockOptions,
  take: (path: string) => Promise<OutputLock>,
): Promise<Lock> {
  const locks: OutputLock[] = [];
  const beats = setInterval(() => void Promise.all(locks.map((lock) => lock.beat())), heartbeatMs).unref();

  async function release(): Promise<void> {
    clearInterval(beats);
    for (const lock of locks.splice(0).toReversed()) await lock.release();
  }

  try {
    for (const path of [...new Set(paths)].sort()) locks.push(await take(path));
  } catch (failure) {
    await release();
    throw failure;
  }
  return {
    check: async () => {
      for (const lock of locks) await lock.check();
    },
    release,
  };
}

const turnMs = 20;
const maxTurns = 500;

/**
 * Runs `work` on a file of the state folder that other runs change as well, one at a time.
 *
 * @param path Absolute path of the file, existing or not.
 * @param runId Run to name in the lock file.
 * @throws {LeadstreamError} `E_RUN_LOCKED` if others hold it for ten seconds; otherwise as `lockOwn`, and what `work` throws.
 */
export async function inTurn<T>(path: string, runId: string, work: () => Promise<T>): Promise<T> {
  const lock = await turn(path, runId, maxTurns);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

async function turn(path: string, runId: string, turns: number): Promise<Lock> {
  try {
    return await lockOwn(path, { runId });
  } catch (failure) {
    if (turns === 0 || !(failure instanceof LeadstreamError) || failure.code !== 'E_RUN_LOCKED') throw failure;
    await wait(turnMs);
    return turn(path, runId, turns - 1);
  }
}
