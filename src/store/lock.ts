import { setTimeout as wait } from 'node:timers/promises';
import { LeadstreamError } from '../core/index.js';
import { LockFile } from './lock-file.js';
import type { OutputLock } from './store.js';
import { storeOf } from './stores.js';

/** How something is locked. */
export interface LockOptions {
  /** Run that the locks name. */
  readonly runId: string;
  /** Time between two signs of life, in milliseconds; a minute without one is taken for death. Default 15,000. */
  readonly heartbeatMs?: number;
}

/** The right of one run to its outputs. */
export interface Lock {
  /**
   * Makes sure that the outputs are still this run's: one that was frozen for more than a minute may have lost them to a
   * run on another host. Called before the commit.
   *
   * @throws {LeadstreamError} `E_RUN_LOCKED`.
   */
  check(): Promise<void>;
  /** Gives back our locks, and what was made for them. Never rejects; may be called twice. */
  release(): Promise<void>;
}

/**
 * Makes sure that one run at a time writes each output: locks each in its store, on local disk by a file `.<name>.lock` beside it, in the order
 * of their paths. Nothing waits: an output that a living run holds is an error, and those already locked are given back.
 *
 * A lock is taken over at once when its process is dead, which can be told on the same host; a process that lives there
 * keeps it. Otherwise it is taken over when its last sign of life is older than a minute, so clocks of hosts that share outputs
 * have to agree to less than that.
 *
 * @param outputs Absolute paths, existing or not; for a table the link. Missing folders above them are made.
 * @throws {LeadstreamError} `E_RUN_LOCKED` naming output, run, host, process and time.
 * @throws {SinkError} `E_SINK_PATH` when a lock cannot be written; `E_SINK_FOREIGN` when a file has its name that is none of ours.
 */
export function lockOutputs(outputs: readonly string[], options: LockOptions): Promise<Lock> {
  return lockEach(outputs, options, (output) => storeOf([output]).lock(output, options.runId));
}

/**
 * The same of something in the state folder, by a lock file that only its user can read.
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
 * Does something with a file of the state folder that other runs change as well, one after the other.
 *
 * @param path Absolute path of the file, existing or not.
 * @param runId Run that the lock file names.
 * @throws {LeadstreamError} `E_RUN_LOCKED` when others hold it for ten seconds; otherwise as `lockOwn`, and what `work` throws.
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
