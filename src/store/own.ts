import { constants, type Stats } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LeadstreamError } from '../core/index.js';
import { errnoOf, unlessMissing } from './failure.js';
import { makeFolders } from './folders.js';
import { inPlace } from './regular.js';

/** Returns the effective user of this process; `undefined` on systems without users. */
const me = () => process.geteuid?.();

/**
 * Describes why something in the state folder cannot have been created there by leadstream; `undefined` if it can. Otherwise anyone with
 * write access could make us rename, remove or truncate files.
 *
 * @param user Default: the effective user of this process.
 */
export function foreignness(found: Stats, kind: 'file' | 'folder', user: number | undefined = me()): string | undefined {
  if (found.isSymbolicLink()) return 'is a link';
  if (kind === 'folder' && !found.isDirectory()) return 'is not a folder';
  if (kind === 'file' && !found.isFile()) return 'is not a regular file';
  if (user !== undefined && found.uid !== user) return `belongs to user ${found.uid}, not to user ${user}, who runs this`;
  if ((found.mode & 0o002) !== 0) return 'is writable by everyone';
  if (kind === 'file' && found.nlink > 1) return 'has a second name (a hard link)';
  return undefined;
}

/**
 * Describes why the state folder itself cannot be used; `undefined` if it can. An administrator may have created it: it may belong to root, be a link owned by
 * root (systemd creates these), or be like `/tmp`, where no one can move the files of others.
 *
 * @param target What the link leads to, if it is one.
 */
export function stateForeignness(found: Stats, target: Stats | undefined = found, user: number | undefined = me()): string | undefined {
  if (found.isSymbolicLink() && (user === undefined || user === 0 || found.uid !== 0)) return 'is a link';
  if (target === undefined || !target.isDirectory()) return 'is not a folder';
  if (user !== undefined && target.uid !== user && target.uid !== 0)
    return `belongs to user ${target.uid}, not to user ${user}, who runs this`;
  return (target.mode & 0o1002) === 0o002 ? 'is writable by everyone' : undefined;
}

/**
 * Creates a private folder in the state folder, or makes an existing one private. The state folder is created if it is missing, private as well.
 *
 * @throws {LeadstreamError} `E_STATE_FOREIGN` with the reason, if either cannot be ours.
 * @throws The system's error, for the caller to describe.
 */
export async function makePrivate(folder: string): Promise<void> {
  await makeState(dirname(folder));
  await accessible(folder, () =>
    mkdir(folder, { mode: 0o700 }).catch((thrown: unknown) => {
      if (errnoOf(thrown) !== 'EEXIST') throw thrown;
    }),
  );
  await accessible(folder, () => close(folder));
}

/**
 * Creates the state folder if it is missing, private, and checks that it is ours.
 *
 * @throws As `makePrivate`.
 */
export async function makeState(folder: string): Promise<void> {
  if (await isState(folder)) return;
  await makeFolders(folder);
  await chmod(folder, 0o700);
}

/**
 * Checks that a folder in the state folder is ours, and closes it to others if it was open to them.
 *
 * @returns `false` if it is missing.
 * @throws As `makePrivate`.
 */
export async function isPrivate(folder: string): Promise<boolean> {
  if (!(await isState(dirname(folder)))) return false;
  return accessible(folder, () => close(folder).then(() => true, unlessMissing(false)));
}

/**
 * Returns the names in the state folder; none if it is missing.
 *
 * @throws As `makePrivate`.
 */
export async function namesInState(folder: string): Promise<readonly string[]> {
  if (!(await isState(folder))) return [];
  return accessible(folder, () => readdir(folder));
}

async function isState(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(unlessMissing(undefined));
  if (found === undefined) return false;
  const fault = stateForeignness(found, found.isSymbolicLink() ? await stat(folder).catch(unlessMissing(undefined)) : found);
  if (fault !== undefined) throw foreign(folder, fault);
  return true;
}

async function close(folder: string): Promise<void> {
  const fault = foreignness(await lstat(folder), 'folder');
  if (fault !== undefined) throw foreign(folder, fault);
  // Through a handle, since anyone with write access above could replace the folder by a link.
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    if (((await handle.stat()).mode & 0o077) !== 0) await handle.chmod(0o700);
  } finally {
    await handle.close();
  }
}

/**
 * Opens a file of the state folder. Never blocks, as a pipe without a writer would.
 *
 * @param flags Of `node:fs` constants, `O_RDONLY` or more. Links are not followed.
 * @throws {LeadstreamError} `E_STATE_FOREIGN` if the file cannot be ours.
 * @throws The system's error, for the caller to describe.
 */
export async function openOwn(path: string, flags: number): Promise<FileHandle> {
  const handle = await open(path, flags | inPlace, 0o600).catch((thrown: unknown) => {
    throw errnoOf(thrown) === 'ELOOP' ? foreign(path, 'is a link') : thrown;
  });
  try {
    const fault = foreignness(await handle.stat(), 'file');
    if (fault !== undefined) throw foreign(path, fault);
    return handle;
  } catch (failure) {
    await handle.close();
    throw failure;
  }
}

/**
 * Returns the text of a file of the state folder; `undefined` if it is missing.
 *
 * @throws As `openOwn`.
 */
export async function readOwn(path: string): Promise<string | undefined> {
  const handle = await accessible(path, () => openOwn(path, constants.O_RDONLY).catch(unlessMissing(undefined)));
  try {
    return await handle?.readFile('utf8');
  } finally {
    await handle?.close();
  }
}

/** Runs `work` in the state folder. If permissions or a file in the way prevent it, the error names the obstacle and its owner. */
async function accessible<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const code = errnoOf(thrown);
    if (code === undefined || !inaccessible.has(code)) throw thrown;
    const blocking = await blockingAt(path);
    throw foreign(blocking.path, `${code === 'ENOTDIR' ? 'is not a folder' : `cannot be used (${code})`}${ownedBy(blocking.found)}`);
  }
}

const inaccessible: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'ENOTDIR']);

/** Returns the nearest existing item on the way to a path. */
async function blockingAt(path: string): Promise<{ readonly path: string; readonly found: Stats | undefined }> {
  const found = await lstat(path).catch(() => undefined);
  return found !== undefined || dirname(path) === path ? { path, found } : blockingAt(dirname(path));
}

function ownedBy(found: Stats | undefined): string {
  const user = me();
  if (found === undefined || user === undefined || found.uid === user)
    return '; make it accessible, or choose another place with --state-dir';
  return `: it belongs to user ${found.uid}, not to user ${user}, who runs this; give it to that user, or choose another place with --state-dir`;
}

/** Creates the error for something in the state folder that is not recognized as ours. */
export function foreign(path: string, fault: string): LeadstreamError {
  return new LeadstreamError('E_STATE_FOREIGN', `${path} ${fault}`);
}
