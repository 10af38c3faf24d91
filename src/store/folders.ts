import { constants } from 'node:fs';
import { access, lstat, mkdir, open, rmdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { refuseLinks } from './links.js';
import { attempt, errnoOf, unlessMissing } from './failure.js';

/**
 * Makes a folder and those above it that are missing.
 *
 * @param own Folder below which all others are leadstream's own: no link is followed there. Default: links are followed.
 * @returns The folders that this call made, outermost first; `removeFolders` takes them away again.
 * @throws {SinkError} `E_SINK_PATH`, or `E_SINK_FOREIGN` for a link below `own`.
 */
export async function makeFolders(path: string, own?: string): Promise<readonly string[]> {
  if (own !== undefined) await refuseLinks(own, path);
  const made: string[] = [];
  // One by one: Node's own recursive mkdir never returns where the system answers ENOENT for every name, as /proc does.
  for (const folder of chainOf(path)) {
    try {
      if ((await isFolder(folder)) || !(await attempt('E_SINK_PATH', `cannot make the folder ${folder}`, () => make(folder)))) continue;
      made.push(folder);
      await syncFolder(dirname(folder));
    } catch (failure) {
      await removeFolders(made);
      throw failure;
    }
  }
  return made;
}

/**
 * Makes sure that a folder can be written in, or could once it was made. Nothing is made.
 *
 * @throws {SinkError} `E_SINK_PATH`.
 */
export async function refuseUnwritable(folder: string): Promise<void> {
  await attempt('E_SINK_PATH', `cannot write in ${folder}`, async () => {
    const there = await nearest(folder);
    if (!(await isFolder(there))) throw new Error(`${there} is no folder`);
    const { R_OK, W_OK, X_OK } = constants;
    await access(there, there === folder ? R_OK | W_OK | X_OK : W_OK | X_OK);
  });
}

/** A folder, or what is nearest to it among those above. @throws The system's error. */
async function nearest(folder: string): Promise<string> {
  const found = await lstat(folder).catch(unlessMissing(undefined));
  return found === undefined ? nearest(dirname(folder)) : folder;
}

/** A folder and all above it, outermost first. */
function chainOf(path: string): readonly string[] {
  const above = dirname(path);
  return above === path ? [path] : [...chainOf(above), path];
}

/** Whether it was this call that made the folder, and not another run at the same moment. */
async function make(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    return true;
  } catch (thrown) {
    if (errnoOf(thrown) === 'EEXIST' && (await isFolder(folder))) return false;
    throw thrown;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Removes folders, innermost first, as far as they are empty or gone. Ones in use are left alone. */
export async function removeFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders.toReversed()) {
    try {
      await rmdir(folder);
    } catch (thrown) {
      if (errnoOf(thrown) !== 'ENOENT') return;
    }
  }
}

/** Makes the names in a folder durable. File systems that cannot do that for folders are left to themselves. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } catch (thrown) {
    if (!['EINVAL', 'ENOTSUP', 'EPERM'].includes(errnoOf(thrown) ?? '')) throw thrown;
  } finally {
    await folder.close();
  }
}
