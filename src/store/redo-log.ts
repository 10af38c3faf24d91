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
 * Checks what a run is about to commit, and makes it durable as `<folder>/<runId>.commit.json`. The caller must hold the locks of the outputs, and the contents
 * of all sources of the actions must be durable; their names are made durable here.
 *
 * @param folder A folder in the state folder; both are created if missing, private (0700).
 * @returns The commit, which will be carried out from now on, by the caller or by recovery.
 * @throws {SinkError} `E_SINK_PATH`, `E_SINK_WRITE`, `E_SINK_FOREIGN` for a link in the way, or `E_SINK_VERIFY` if
 * a file differs from what was written; nothing is logged then.
 * @throws {LeadstreamError} `E_STATE_FOREIGN` if the folder cannot be ours.
 */
export async function logCommit(folder: string, commit: LoggedCommit): Promise<PreparedCommit> {
  const store = storeOf(commit.outputs);
  const prepared = await store.prepare(commit);
  await attempt('E_SINK_PATH', `cannot create the folder ${folder}`, () => makePrivate(folder));
  const text = textOfCommit(commit, store, new Date().toISOString());
  await attempt('E_SINK_WRITE', `cannot write the redo log in ${folder}`, () =>
    replaceFile(pathOf(folder, commit.runId), text, { durable: true, mode: 0o600 }),
  );
  return prepared;
}

/**
 * Removes a commit from the log after it was carried out.
 *
 * @throws {SinkError} `E_SINK_WRITE`.
 */
export async function forgetCommit(folder: string, runId: string): Promise<void> {
  await attempt('E_SINK_WRITE', `cannot remove from the redo log in ${folder}`, async () => {
    await removeFile(pathOf(folder, runId));
    await syncFolder(folder);
  });
}

/** A commit in the log, with its file. */
export interface LogEntry {
  readonly path: string;
  readonly commit: StoredCommit;
}

/**
 * Returns all logged commits, by run and so by time. Removes the incomplete files of killed writers.
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
 * Reads a commit in the log; returns `undefined` if it no longer exists.
 *
 * @throws {SinkError} `E_SINK_WRITE` if it is damaged.
 * @throws {LeadstreamError} `E_STATE_VERSION` if this version cannot read it; `E_STATE_FOREIGN` if the file was not created by leadstream for this user.
 */
export async function readCommit(path: string): Promise<StoredCommit | undefined> {
  const text = await attempt('E_SINK_WRITE', `cannot read ${path}`, () => readOwn(path));
  return text === undefined ? undefined : commitIn(text, path);
}

function pathOf(folder: string, runId: string): string {
  return join(folder, runId + commitEnding);
}
