import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { attempt, removeFile } from '../store/index.js';
import { filesBelow, partitionsBelow } from './folders.js';
import { besideEndings, filesOf, isOurs } from './names.js';
import type { Table } from './table.js';

/**
 * Removes runs that are no longer needed: of those with a manifest, all but the published one and `keep` kept ones. Deletes only files that the
 * manifest lists, and folders that are empty afterwards.
 *
 * @param published The run that the link points to.
 * @param before The run that it replaced, which is kept first.
 */
export async function prune(table: Table, published: string, before: string | undefined, keep: number): Promise<void> {
  const others = (await table.runIds()).filter((run) => run !== published).reverse();
  const kept: string[] = [];
  for (const run of before === undefined ? others : [before, ...others.filter((run) => run !== before)]) {
    if (kept.length < keep && (await table.isKept(run))) kept.push(run);
  }
  for (const run of others.filter((run) => !kept.includes(run))) {
    const manifest = await table.manifest(run);
    if (manifest) await remove(table, run, filesOf(manifest));
  }
}

/** Removes the remains of killed runs. */
export async function removeDeadRuns(table: Table): Promise<void> {
  const withManifest = await table.runsWithManifest();
  for (const run of await table.runIds()) {
    if (!withManifest.includes(run)) await removeRun(table, run);
  }
}

/** Removes a run that was not published, unless its folder contains foreign names. */
export async function removeRun(table: Table, run: string): Promise<void> {
  const names = await filesBelow(table.folder(run));
  if (names.every((name) => isOurs(name, run))) await remove(table, run, names);
}

/**
 * Removes files of a run, none of them through a link, then empty folders and the files next to the run. The manifest goes last, so that the removal
 * can be repeated.
 */
async function remove(table: Table, run: string, names: readonly string[]): Promise<void> {
  const folder = table.folder(run);
  const present = new Set(await filesBelow(folder));
  await attempt('E_SINK_WRITE', `cannot remove the old run ${folder}`, async () => {
    for (const name of names) if (present.has(name)) await removeFile(join(folder, name));
    for (const below of await partitionsBelow(folder)) await rmdir(below).catch(() => undefined);
    await rmdir(folder).catch(() => undefined);
    for (const ending of besideEndings) await removeFile(folder + ending);
  });
}
