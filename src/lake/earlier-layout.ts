import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SinkError } from '../core/index.js';
import { attempt, type DiskObjects, linked, makeFolders, refuseLinks, removeFile, syncFolder, unlessMissing } from '../store/index.js';
import { namesIn } from './link.js';
import { dataFileName, loadManifest, storedKeyOf } from './manifest.js';
import { keysKey, manifestKey } from './store-table.js';

const manifestEnding = '.manifest.json';
const keysEnding = '.keys.bin';

/** Refuses to read a table that an earlier version wrote. @throws {SinkError} `E_SINK_RUN`. */
export async function refuseEarlier(table: string, root: string): Promise<void> {
  if ((await runsIn(root)).length === 0) return;
  throw new SinkError(
    'E_SINK_RUN',
    `${table} was written by an earlier version of leadstream; run its pipeline once, which keeps its runs`,
  );
}

/**
 * Gives a table of an earlier version, which had the files of each run in a folder of its own, the present layout, by hard links. Readers
 * see no difference: the folder of the published run is its view. Whatever was done before a kill is done again. The caller holds the lock.
 */
export async function convert(objects: DiskObjects): Promise<void> {
  const { root } = objects;
  const runs = await runsIn(root);
  const folders = new Set<string>();
  const link = async (from: string, key: string) => {
    const found = await stat(from).catch(unlessMissing(undefined));
    if (found === undefined) return;
    const to = await objects.pathOf(key);
    folders.add(dirname(to));
    await makeFolders(dirname(to), root, found.mode & 0o777);
    await attempt('E_SINK_WRITE', `cannot create ${to}`, () => linked(from, to));
  };
  for (const run of runs) {
    const path = join(root, run);
    await refuseLinks(root, path);
    const { manifest } = await loadManifest(path + manifestEnding);
    const names = manifest?.run_id === run ? manifest.files.map(({ name }) => name) : [];
    for (const name of names)
      if (dataFileName.test(name)) for (const ending of ['', '.kept']) await link(join(path, name + ending), storedKeyOf(name));
    await link(path + keysEnding, keysKey(run));
    await link(path + manifestEnding, manifestKey(run));
  }
  for (const folder of folders) await syncFolder(folder);
  for (const run of runs) for (const ending of [keysEnding, manifestEnding]) await removeFile(join(root, run + ending));
}

/** Returns the runs that have a manifest where earlier versions had it, the newest first, whose files have the present permissions. */
async function runsIn(root: string): Promise<readonly string[]> {
  const names = (await namesIn(root)).filter((name) => name.endsWith(manifestEnding));
  return names
    .map((name) => name.slice(0, -manifestEnding.length))
    .filter((run) => /^[\w-]+$/.test(run))
    .sort()
    .reverse();
}
