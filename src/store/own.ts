import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LeadstreamError } from '../core/index.js';
import { errnoOf, unless, unlessMissing } from './failure.js';
import { closing, makeFolders, orClose, setMode } from './files.js';

/**
 * Creates the private state folder, or checks that it is ours. Others may be able to write in it (a mounted volume belongs to root and a
 * group, and systemd makes a link that belongs to root), so its content is checked for its owner, too.
 * @throws {LeadstreamError} `E_STATE_FOREIGN`, or the system's error, for the caller to describe.
 */
export async function makeState(folder: string): Promise<void> {
  if (await isState(folder)) return;
  await makeFolders(folder);
  await chmod(folder, 0o700);
}

/** Creates a folder in the state folder, or makes one private. @throws As `makeState`. */
export async function makePrivate(folder: string): Promise<void> {
  await makeState(dirname(folder));
  await mkdir(folder, { mode: 0o700 }).catch(unless(undefined, 'EEXIST'));
  await closeToOthers(folder);
}

/** As `makePrivate`, for an existing folder. @returns `false` if it is missing. */
export async function isPrivate(folder: string): Promise<boolean> {
  return (await isState(dirname(folder))) && closeToOthers(folder).then(() => true, unlessMissing(false));
}

async function isState(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(unlessMissing(undefined));
  if (found === undefined) return false;
  const target = await stat(folder).catch(unlessMissing(undefined));
  if (target?.isDirectory() !== true) throw foreign(folder, 'is not a folder');
  for (const { uid } of [found, target]) if (uid !== 0) refuseOthers(folder, uid);
  // In a folder like /tmp, no one can move the files of others.
  if ((target.mode & 0o1002) === 0o002) throw foreign(folder, 'is writable by everyone');
  return true;
}

/** Works through a handle, since anyone with write access above could replace the folder by a link. */
async function closeToOthers(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch((thrown: unknown) => {
    throw ['ELOOP', 'ENOTDIR'].includes(errnoOf(thrown) ?? '') ? foreign(folder, 'is a link, or not a folder') : thrown;
  });
  await closing(handle, async () => {
    const { uid, mode } = await handle.stat();
    refuseOthers(folder, uid);
    if ((mode & 0o002) !== 0) throw foreign(folder, 'is writable by everyone');
    await setMode(handle, 0o700);
  });
}

/** Opens a regular file, without following links or blocking on a pipe. @throws `refused`, or the system's error. */
export async function openRegular(
  path: string,
  flags = constants.O_RDONLY,
  refused = (path: string, fault: string): Error => new Error(`${path} ${fault}`),
): Promise<FileHandle> {
  const handle = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600).catch((thrown: unknown) => {
    throw errnoOf(thrown) === 'ELOOP' ? refused(path, 'is a link, not a regular file') : thrown;
  });
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw refused(path, 'is not a regular file');
}

export async function readRegular(path: string): Promise<Buffer> {
  return closing(await openRegular(path), (handle) => handle.readFile());
}

/** Opens a file of the state folder. @throws {LeadstreamError} `E_STATE_FOREIGN` unless it is a regular file of this user. */
export async function openOwn(path: string, flags: number): Promise<FileHandle> {
  const handle = await openRegular(path, flags, foreign);
  return orClose(handle, async () => {
    const { uid, mode } = await handle.stat();
    refuseOthers(path, uid);
    // The umask may have taken the right to open a new file again.
    if ((flags & constants.O_CREAT) !== 0 && (mode & 0o600) !== 0o600) await setMode(handle, 0o600);
    return handle;
  });
}

/** Returns the text of a file of the state folder; `undefined` if it is missing. @throws As `openOwn`. */
export async function readOwn(path: string): Promise<string | undefined> {
  const handle = await openOwn(path, constants.O_RDONLY).catch(unlessMissing(undefined));
  return handle && closing(handle, () => handle.readFile('utf8'));
}

/** Systems without users have no `geteuid`. */
function refuseOthers(path: string, uid: number): void {
  const user = process.geteuid?.();
  if (user !== undefined && uid !== user) throw foreign(path, `belongs to user ${uid}, not to user ${user}, who runs this`);
}

export function foreign(path: string, fault: string): LeadstreamError {
  return new LeadstreamError('E_STATE_FOREIGN', `${path} ${fault}`);
}
