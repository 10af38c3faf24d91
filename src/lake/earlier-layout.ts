import { lstat, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SinkError } from '../core/index.js';
import { attempt, type DiskObjects, linked, makeFolders, refuseLinks, removeFile, syncFolder, unlessMissing } from '../store/index.js';
import { filesBelow, isOurs, keptEnding, linkEnding, namesIn, partialEnding, removeEmpty, viewsIn } from './link.js';
import { dataFileName, storedKeyOf } from './manifest.js';
import { intentsIn, keysKey, manifestAt, manifestKey, storedRuns } from './store-table.js';

const manifestEnding = '.manifest.json';
const keysEnding = '.keys.bin';

/** Refuses to read a table that an earlier version wrote. @throws {SinkError} `E_SINK_RUN`. */
export async function refuseEarlier(table: string, root: string): Promise<void> {
  if ((await namesIn(root)).every((name) => !name.endsWith(manifestEnding))) return;
  const remedy = 'run its pipeline once, which keeps its runs';
  throw new SinkError('E_SINK_RUN', `${table} was written by an earlier version of leadstream; ${remedy}`);
}

/**
 * Stores what only views have. That gives a table of an earlier version, which had the files of each run in a folder of its own, the present
 * layout, by hard links. Readers see no difference: the folder of the published run is its view. The caller holds the lock. After a kill,
 * the next call does all of it again.
 */
export async function convert(objects: DiskObjects, published: string | undefined): Promise<void> {
  const { root } = objects;
  const names = await namesIn(root);
  const earlier = viewsIn(names).filter((run) => names.includes(run + manifestEnding));
  const begun = (await intentsIn(objects)).map(({ run }) => run);
  const known = new Set([published, ...earlier, ...begun, ...(await storedRuns(objects))]);
  const folders = new Set<string>();
  let isChanged = earlier.length > 0;
  const store = async (from: string, key: string) => {
    const [to, found] = [join(root, key), await lstat(from).catch(unlessMissing(undefined))];
    if (found?.isFile() !== true) return;
    folders.add(dirname(to));
    if ((await lstat(to).catch(unlessMissing(undefined))) !== undefined) return;
    await objects.pathOf(key);
    isChanged = true;
    await makeFolders(dirname(to), root, found.mode & 0o777);
    // Without hard links, a copy gets its name when it is whole.
    await attempt('E_SINK_WRITE', `cannot create ${to}`, async () => {
      await removeFile(to + partialEnding);
      await linked(from, to + partialEnding);
      await rename(to + partialEnding, to);
    });
  };
  for (const run of viewsIn(names)) {
    const view = join(root, run);
    if (!known.has(run)) {
      await removeDead(view, names.includes(run + linkEnding));
      continue;
    }
    if (earlier.includes(run)) await refuseLinks(root, view);
    for (const name of await filesBelow(view)) {
      const whole = name.endsWith(keptEnding) ? name.slice(0, -keptEnding.length) : name;
      if (dataFileName.test(whole)) await store(join(view, name), storedKeyOf(whole));
    }
    await store(view + keysEnding, keysKey(run));
  }
  for (const folder of isChanged ? folders : []) await syncFolder(folder);
  for (const run of earlier) {
    const [from, to] = [join(root, run + manifestEnding), await objects.pathOf(manifestKey(run))];
    const present = await manifestAt(objects, run);
    await makeFolders(dirname(to), root, (await lstat(from)).mode & 0o777);
    await removeFile(join(root, run + keysEnding));
    // One that cannot be read stays for verify, and one that was restored takes its place.
    if (present === undefined) await rename(from, to);
    await removeFile(from);
  }
}

/** Removes what a killed run of an earlier version left. Its files got their names after a link was drafted. */
async function removeDead(path: string, isCommitting: boolean): Promise<void> {
  const names = await filesBelow(path);
  const isDead = (name: string) => isOurs(name) && (name.endsWith(partialEnding) || (isCommitting && !name.endsWith(keptEnding)));
  if (!names.every(isDead)) return;
  await attempt('E_SINK_WRITE', `cannot remove the old run ${path}`, async () => {
    for (const name of names) await removeFile(join(path, name));
    await removeEmpty(path);
    for (const ending of [keysEnding + partialEnding, manifestEnding + partialEnding, keysEnding, linkEnding])
      await removeFile(path + ending);
  });
}
