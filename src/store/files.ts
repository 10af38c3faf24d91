import { createHash, randomBytes } from 'node:crypto';
import { chmod, constants, copyFile, link, open, readdir, rename, stat, unlink, lstat, mkdir, rmdir } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { attempt, errnoOf, undoing, unless, unlessMissing } from './failure.js';
import { SinkError } from '../core/index.js';

/** Computes the SHA-256 of a file in hexadecimal. */
export function sha256File(path: string): Promise<string> {
  return attempt('E_SINK_WRITE', `cannot read back ${path}`, async () => {
    const hash = createHash('sha256');
    return closing(await open(path), async (file) => {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      for (;;) {
        const { bytesRead } = await file.read(chunk, 0, chunkBytes);
        if (bytesRead === 0) return hash.digest('hex');
        hash.update(chunk.subarray(0, bytesRead));
      }
    });
  });
}

const chunkBytes = 1 << 20;

export function sha256Text(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Works with an open file, or with what else is closed then. */
export async function closing<O extends { close(): Promise<void> }, T>(opened: O, work: (opened: O) => Promise<T>): Promise<T> {
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** Works with an open file, and closes it if that fails. */
export function orClose<T>(file: FileHandle, work: () => Promise<T>): Promise<T> {
  return work().catch(undoing(() => file.close()));
}

/** Parses JSON; `undefined` for any other text. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Removes a file or link, if it exists. `rm` would examine it twice first, which is most of the cost of cleaning up. */
export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch(unlessMissing(undefined));
}

/** Gives a file a second name, or makes a durable copy if the file system has no links, or `to` is on another one. @returns `false` if the name is taken. */
export function linked(from: string, to: string): Promise<boolean> {
  const named = link(from, to).catch(async (thrown: unknown) => {
    if (!withoutLinks.has(errnoOf(thrown) ?? '')) throw thrown;
    await copyFile(from, to, constants.COPYFILE_EXCL);
    await closing(await open(to, 'r'), (copy) => copy.sync());
  });
  return named.then(() => true, unless(false, 'EEXIST'));
}

const withoutLinks: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK']);

/**
 * Replaces a whole file, so that readers see either the old contents or the new. `removeTemporaries` removes what killed processes left behind.
 *
 * @param mode Permissions, regardless of the umask.
 * @param durable Whether the contents survive a power loss; otherwise they survive the process.
 * @throws The system's error, for the caller to describe.
 */
export async function replaceFile(path: string, data: string, mode: number, durable = false): Promise<void> {
  const temporary = temporaryName(path);
  try {
    await closing(await open(temporary, 'wx', mode), async (file) => {
      await setMode(file, mode);
      await file.writeFile(data);
      if (durable) await file.datasync();
    });
    await rename(temporary, path);
  } catch (failure) {
    await removeFile(temporary).catch(() => undefined);
    throw failure;
  }
  if (durable) await syncFolder(dirname(path));
}

/** Gives an open file its permissions, if the umask or somebody changed them: Node's permission model forbids it. */
export async function setMode(file: FileHandle, mode: number): Promise<void> {
  if (((await file.stat()).mode & 0o777) !== mode) await file.chmod(mode);
}

/** Suffix of a file that is being written. */
export const temporaryEnding = '.tmp';

export function temporaryName(path: string): string {
  return `${path}.${randomId()}${temporaryEnding}`;
}

export function randomId(): string {
  return randomBytes(8).toString('hex');
}

/** Age from which such a file was left by a killed process, in milliseconds. */
const maxWriteMs = 3_600_000;

/** Removes the temporary files that killed processes left an hour ago or earlier, if `isOurs` knows the name that they were to get. Never rejects. */
export async function removeTemporaries(folder: string, isOurs: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const [, whole] = /^(.+)\.[0-9a-f]{16}\.tmp$/.exec(name) ?? [];
    if (whole === undefined || !isOurs(whole)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found && Date.now() - found.mtimeMs > maxWriteMs) await removeFile(path).catch(() => undefined);
  }
}

/**
 * Creates a folder and any missing parent folders.
 *
 * @param own Folder below which all folders are leadstream's own, and links are not followed.
 * @param permissions Of the files there; folders below `own` that are created get matching ones. Default: by the umask.
 * @param changed Called with each folder that has a new name. Default: makes it durable.
 * @returns The folders that this call created, outermost first; `removeFolders` removes them again.
 * @throws {SinkError} `E_SINK_PATH`, or `E_SINK_FOREIGN` for a link below `own`.
 */
export async function makeFolders(
  path: string,
  own?: string,
  permissions?: number,
  changed: (folder: string) => unknown = syncFolder,
): Promise<readonly string[]> {
  if (own !== undefined) await refuseLinks(own, path);
  const made: string[] = [];
  // One by one: Node's recursive mkdir never returns if the system answers ENOENT for every name, as /proc does.
  for (const folder of chainOf(path)) {
    try {
      if ((await isFolder(folder)) || !(await attempt('E_SINK_PATH', `cannot create the folder ${folder}`, () => make(folder)))) continue;
      made.push(folder);
      if (permissions !== undefined && folder.startsWith(own ?? '')) await openTo(folder, permissions);
      await changed(dirname(folder));
    } catch (failure) {
      await removeFolders(made);
      throw failure;
    }
  }
  return made;
}

function chainOf(path: string): readonly string[] {
  const above = dirname(path);
  return above === path ? [path] : [...chainOf(above), path];
}

/** Creates a folder; `false` if another run created it at the same moment. */
async function make(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    // The umask must not keep us out.
    await closing(await open(folder), async (made) => setMode(made, ((await made.stat()).mode & 0o777) | 0o700));
    return true;
  } catch (thrown) {
    if (errnoOf(thrown) === 'EEXIST' && (await isFolder(folder))) return false;
    throw thrown;
  }
}

/** Lets everyone who may read the files of a folder enter it, and its owner write. */
export async function openTo(folder: string, permissions: number): Promise<void> {
  const mode = permissions | ((permissions & 0o444) >> 2) | 0o300;
  await attempt('E_SINK_PATH', `cannot set the permissions of ${folder}`, () => chmod(folder, mode));
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
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

/** Makes the names in a folder durable, where the file system can. */
export async function syncFolder(path: string): Promise<void> {
  await closing(await open(path, 'r'), (folder) => folder.sync().catch(unless(undefined, 'EINVAL', 'ENOTSUP', 'EPERM')));
}

/**
 * Checks that nothing between two folders is a link: all folders there are leadstream's own.
 *
 * @throws {SinkError} `E_SINK_FOREIGN` naming what is not a folder; `E_SINK_PATH` for one that cannot be entered.
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

export function notOurFolder(path: string, what: 'a link' | 'not a folder'): SinkError {
  const remedy = 'check what it is, and move it away';
  return new SinkError('E_SINK_FOREIGN', `${path} is ${what} where leadstream keeps a folder of its own; ${remedy}`);
}
