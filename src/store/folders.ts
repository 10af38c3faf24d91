import { lstat, mkdir, open, rmdir, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { SinkError } from '../core/index.js';
import { attempt, errnoOf, unlessMissing } from './failure.js';

/**
 * Creates a folder and any missing parent folders.
 *
 * @param own Folder below which all folders are leadstream's own; links there are not followed. Default: links are followed.
 * @returns The folders that this call created, outermost first; `removeFolders` removes them again.
 * @throws {SinkError} `E_SINK_PATH`, or `E_SINK_FOREIGN` for a link below `own`.
 */
export async function makeFolders(path: string, own?: string): Promise<readonly string[]> {
  if (own !== undefined) await refuseLinks(own, path);
  const made: string[] = [];
  // One by one: Node's recursive mkdir never returns if the system answers ENOENT for every name, as /proc does.
  for (const folder of chainOf(path)) {
    try {
      if ((await isFolder(folder)) || !(await attempt('E_SINK_PATH', `cannot create the folder ${folder}`, () => make(folder)))) continue;
      made.push(folder);
      await syncFolder(dirname(folder));
    } catch (failure) {
      await removeFolders(made);
      throw failure;
    }
  }
  return made;
}

/** Returns a folder and all its parents, outermost first. */
function chainOf(path: string): readonly string[] {
  const above = dirname(path);
  return above === path ? [path] : [...chainOf(above), path];
}

/** Creates a folder. Returns `false` if it already exists, for example because another run created it at the same moment. */
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

/** Removes folders, innermost first, if they are empty or gone. Stops at the first one in use. */
export async function removeFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders.toReversed()) {
    try {
      await rmdir(folder);
    } catch (thrown) {
      if (errnoOf(thrown) !== 'ENOENT') return;
    }
  }
}

/** Makes the names in a folder durable. File systems that do not support this for folders are tolerated. */
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

/**
 * Checks that nothing between two folders is a link. All folders there are leadstream's own.
 *
 * @param above Absolute path; it may be a link or lead through links.
 * @param folder Absolute path below it, existing or not.
 * @throws {SinkError} `E_SINK_FOREIGN` naming the link, or whatever is not a folder; `E_SINK_PATH` for a folder that cannot be entered.
 */
export async function refuseLinks(above: string, folder: string): Promise<void> {
  let at = above;
  for (const name of relative(above, folder).split(sep).filter(Boolean)) {
    at = join(at, name);
    const found = await attempt('E_SINK_PATH', `cannot access ${at} (every folder above it must be accessible)`, () =>
      lstat(at).catch(unlessMissing(undefined)),
    );
    if (found === undefined) return;
    if (!found.isDirectory()) throw notOurFolder(at, found.isSymbolicLink() ? 'a link' : 'not a folder');
  }
}

/** Creates the error for something else where a folder of leadstream belongs. */
export function notOurFolder(path: string, what: 'a link' | 'not a folder'): SinkError {
  return new SinkError(
    'E_SINK_FOREIGN',
    `${path} is ${what} where leadstream keeps a folder of its own; check what it is, and move it away`,
  );
}
