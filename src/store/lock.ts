import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { LeadstreamError } from '../core/index.js';
import { LockFile } from './lock-file.js';

/** How outputs are locked. */
export interface LockOptions {
  /** Run that the lock files name. */
  readonly runId: string;
  /** Time between two signs of life, in milliseconds; a minute without one is taken for death. Default 15,000. */
  readonly heartbeatMs?: number;
  /** Permissions of the lock files, narrowed by the umask. Default `0o666`. */
  readonly mode?: number;
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
  /** Removes our lock files, and folders that were made for them and are empty. Never rejects; may be called twice. */
  release(): Promise<void>;
}

/**
 * Makes sure that one run at a time writes each output: puts a lock file `.<name>.lock` beside each, in the order of their
 * absolute paths. Nothing waits: an output that a living run holds is an error, and those already locked are given back.
 *
 * A lock is taken over at once when its process is dead, which can be told on the same host; a process that lives there
 * keeps it. Otherwise it is taken over when its last sign of life is older than a minute, so clocks of hosts that share outputs
 * have to agree to less than that.
 *
 * @param paths Outputs, existing or not; for a table the link. Missing folders above them are made.
 * @throws {LeadstreamError} `E_RUN_LOCKED` naming output, run, host, process and time.
 * @throws {SinkError} `E_SINK_PATH` when a lock file cannot be written; `E_SINK_FOREIGN` when a file has its name that is none of ours.
 */
export async function lockOutputs(paths: readonly string[], options: LockOptions): Promise<Lock> {
  const { runId, heartbeatMs = 15_000, mode = 0o666 } = options;
  const files: LockFile[] = [];
  const beats = setInterval(() => void Promise.all(files.map((file) => file.beat())), heartbeatMs).unref();

  async function release(): Promise<void> {
    clearInterval(beats);
    for (const file of files.splice(0).toReversed()) await file.release();
  }

  try {
    const outputs = new Set(paths.map((path) => resolve(path)));
    for (const output of [...outputs].sort()) files.push(await LockFile.take(output, runId, mode));
  } catch (failure) {
    await release();
    throw failure;
  }
  return {
    check: async () => {
      for (const file of files) await file.check();
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
 * @throws {LeadstreamError} `E_RUN_LOCKED` when others hold it for ten seconds; otherwise as `lockOutputs`, and what `work` throws.
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
    return await lockOutputs([path], { runId, mode: 0o600 });
  } catch (failure) {
    if (turns === 0 || !(failure instanceof LeadstreamError) || failure.code !== 'E_RUN_LOCKED') throw failure;
    await wait(turnMs);
    return turn(path, runId, turns - 1);
  }
}
