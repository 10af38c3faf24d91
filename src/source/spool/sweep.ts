import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { LeadstreamError } from '../../core/index.js';
import { isPrivate, lockOwn } from '../../store/index.js';
import { removeSource } from './folder.js';
import { isFresh, readMarker } from './marker.js';
import { inState } from './place.js';
import { sourceName } from './source.js';

/**
 * Removes spools that are too old to be used, so that raw pages do not remain when a pipeline is not run again. It touches only folders
 * with leadstream's names, and in them only files with leadstream's names; spools in use are left alone.
 *
 * @param folder `<state-dir>/spool`; may be missing.
 * @returns Names of the folders that were removed.
 * @throws {SinkError} `E_SINK_WRITE`.
 * @throws {LeadstreamError} `E_STATE_FOREIGN` if the folder was not created by leadstream for this user.
 */
export async function sweepSpools(folder: string, now: () => number = Date.now): Promise<readonly string[]> {
  const spools = resolve(folder);
  return inState('E_SINK_WRITE', `cannot remove old spools in ${spools}`, async () => {
    if (!(await isPrivate(spools))) return [];
    const entries = await readdir(spools, { withFileTypes: true });
    const names = entries.filter((entry) => entry.isDirectory() && sourceName.test(entry.name)).map(({ name }) => name);
    const removed: string[] = [];
    for (const name of names) if (await sweep(join(spools, name), now)) removed.push(name);
    return removed;
  });
}

/**
 * Removes one spool, because its pages were published. A spool in use is left to its run.
 *
 * @param folder `<state-dir>/spool`.
 * @param source Name of the source's folder in it, or a path that ends with it.
 * @throws {SinkError} `E_SINK_WRITE`.
 */
export async function removeSpool(folder: string, source: string): Promise<void> {
  if (!sourceName.test(basename(source))) return;
  const path = join(resolve(folder), basename(source));
  await inState('E_SINK_WRITE', `cannot remove ${path}`, async () => {
    if (await isPrivate(path)) await removeIf(path, () => Promise.resolve(true));
  });
}

async function sweep(folder: string, now: () => number): Promise<boolean> {
  const isOld = async () => !isFresh(await readMarker(folder), now());
  // Checked twice: the second time under the lock, when no other run can have started using it.
  return (await isOld()) && removeIf(folder, isOld);
}

async function removeIf(folder: string, condition: () => Promise<boolean>): Promise<boolean> {
  const lock = await lockOwn(folder, { runId: `sweep-${randomBytes(4).toString('hex')}` }).catch(unlessLocked);
  if (lock === undefined) return false;
  try {
    if (!(await condition())) return false;
    await removeSource(folder);
    return true;
  } finally {
    await lock.release();
  }
}

function unlessLocked(failure: unknown): undefined {
  if (failure instanceof LeadstreamError && failure.code === 'E_RUN_LOCKED') return undefined;
  throw failure;
}
