import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { attempt } from './failure.js';
import { syncFolder } from './folders.js';
import { commitEnding, commitIn, textOfCommit, type LoggedCommit, type StoredCommit } from './logged-commit.js';
import { isPrivate, makePrivate, readOwn } from './own.js';
import { replaceFile } from './replace.js';
import type { PreparedCommit } from './store.js';
import { storeOf } from './stores.js';
import { removeTemporaries } from './temporary.js';
import { removeFile } from './remove-file.js';

/**
 * Checks what a run is about to commit, and makes it durable as `<folder>/<runId>.commit.json`. The caller holds the locks of the outputs, and
 * the contents of all that the actions start from are durable; their names are made so here.
 *
 * @param folder A folder in the state folder; both are made when missing, private (0700).
 * @returns The commit, which will be carried out from now on, by the caller or by recovery.
 * @throws {SinkError} `E_SINK_PATH`, `E_SINK_WRITE`, `E_SINK_FOREIGN` for a link in the way, or `E_SINK_VERIFY` when a file is not as it
 * was written; then nothing was logged.
 * @throws {LeadstreamError} `E_STATE_FOREIGN` when the folder cannot be ours.
 */
export async function logCommit(folder: string, commit: LoggedCommit): Promise<PreparedCommit> {
  const store = storeOf(commit.outputs);
  const prepared = await store.prepare(commit);
  await attempt('E_SINK_PATH', `cannot make the folder ${folder}`, () => makePrivate(folder));
  const text = textOfCommit(commit, store, new Date().toISOString());
  await attempt('E_SINK_WRITE', `cannot write the redo log in ${folder}`, () =>
    replaceFile(pathOf(folder, commit.runId), text, { durable: true, mode: 0o600 }),
  );
  return prepared;
}

/**
 * Removes a commit from the log, after it was carried out.
 *
 * @throws {SinkError} `E_SINK_WRITE`.
 */
export async function forgetCommit(folder: string, runId: string): Promise<void> {
  await attempt('E_SINK_WRITE', `cannot remove from the redo log in ${folder}`, async () => {
    await removeFile(pathOf(folder, runId));
    await syncFolder(folder);
  });
}

/** A commit in the log, and its file. */
export interface LogEntry {
  readonly path: string;
  readonly commit: StoredCommit;
}

/**
 * All commits that are logged, by run and so by time. What killed writers left half-written goes.
 *
 * @throws As `readCommit`, for the first one that cannot be read.
 */
export async function loggedCommits(folder: string): Promise<readonly LogEntry[]> {
  const names = await attempt('E_SINK_PATH', `cannot read ${folder}`, async () => {
    if (!(await isPrivate(folder))) return [];
    await removeTemporaries(folder, (name) => name.endsWith(commitEnding));
    return (await readdir(folder)).filter((name) => name.endsWith(commitEnding)).sort();
  });
  const found: LogEntry[] = [];
  for (const path of names.map((name) => join(folder, name))) {
    const commit = await readCommit(path);
    if (commit) found.push({ path, commit });
  }
  return found;
}

/**
 * A commit in the log; `undefined` when it is not there any more.
 *
 * @throws {SinkError} `E_SINK_WRITE` for one that is damaged.
 * @throws {LeadstreamError} `E_STATE_VERSION` for one that is not understood here; `E_STATE_FOREIGN` when the file was not made by leadstream
 * for this user.
 */
export async function readCommit(path: string): Promise<StoredCommit | undefined> {
  const text = await attempt('E_SINK_WRITE', `cannot read ${path}`, () => readOwn(path));
  return text === undefined ? undefined : commitIn(text, path);
}

function pathOf(folder: string, runId: string): string {
  return join(folder, runId + commitEnding);
}
