import { createHash, randomBytes } from 'node:crypto';
import { constants, copyFile, link, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { attempt, errnoOf } from './failure.js';
import { syncFolder } from './folders.js';

/**
 * Computes the SHA-256 of a file's contents in hexadecimal, reading in chunks.
 *
 * @throws {SinkError} `E_SINK_WRITE` if the file cannot be read back.
 */
export function sha256File(path: string): Promise<string> {
  return attempt('E_SINK_WRITE', `cannot read back ${path}`, async () => {
    const hash = createHash('sha256');
    const file = await open(path);
    try {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      for (;;) {
        const { bytesRead } = await file.read(chunk, 0, chunkBytes);
        if (bytesRead === 0) return hash.digest('hex');
        hash.update(chunk.subarray(0, bytesRead));
      }
    } finally {
      await file.close();
    }
  });
}

const chunkBytes = 1 << 20;

/** Removes a file or link, if it exists. `rm` would examine it twice first, which is most of the cost of cleaning up. */
export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch((thrown: unknown) => {
    if (errnoOf(thrown) !== 'ENOENT') throw thrown;
  });
}

/**
 * Gives a file a second name. If the file system has no links, or `to` is on another one, makes a durable copy.
 *
 * @returns `false` if the name is taken.
 * @throws The system's error, for the caller to describe.
 */
export async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to).catch((thrown: unknown) => {
      if (!withoutLinks.has(errnoOf(thrown) ?? '')) throw thrown;
      return copied(from, to);
    });
    return true;
  } catch (thrown) {
    if (errnoOf(thrown) === 'EEXIST') return false;
    throw thrown;
  }
}

const withoutLinks: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK']);

async function copied(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_EXCL);
  const copy = await open(to, 'r');
  try {
    await copy.sync();
  } finally {
    await copy.close();
  }
}

/** Options for writing a small file. */
export interface ReplaceOptions {
  /** Permissions of the file, narrowed by the umask. Default `0o666`. */
  readonly mode?: number;
  /** Whether to ignore the umask. Default `false`. */
  readonly exactly?: boolean;
  /** Whether the contents survive a power loss. Default `false`: they survive the process. */
  readonly durable?: boolean;
}

/**
 * Replaces a whole file, so that readers see either the old contents or the new. Writes a temporary file next to it and renames that.
 * `removeTemporaries` removes what killed processes left behind.
 *
 * @throws The system's error, for the caller to describe.
 */
export async function replaceFile(path: string, data: string | Uint8Array, options: ReplaceOptions = {}): Promise<void> {
  const { mode = 0o666, exactly = false, durable = false } = options;
  const temporary = temporaryName(path);
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      if (exactly) await file.chmod(mode);
      await file.writeFile(data);
      if (durable) await file.datasync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (failure) {
    await removeFile(temporary).catch(() => undefined);
    throw failure;
  }
  if (durable) await syncFolder(dirname(path));
}

/** Suffix of a file that is being written. */
export const temporaryEnding = '.tmp';

export function temporaryName(path: string): string {
  return `${path}.${randomBytes(8).toString('hex')}${temporaryEnding}`;
}

/** Age from which such a file was left by a killed process, in milliseconds. */
const maxWriteMs = 3_600_000;

/**
 * Removes the temporary files that killed processes left an hour ago or earlier. Files with merely similar names stay. Never rejects.
 *
 * @param isOurs Returns whether such a file was to become one of the caller's, by its name.
 */
export async function removeTemporaries(folder: string, isOurs: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const [, whole] = /^(.+)\.[0-9a-f]{16}\.tmp$/.exec(name) ?? [];
    if (whole === undefined || !isOurs(whole)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found && Date.now() - found.mtimeMs > maxWriteMs) await removeFile(path).catch(() => undefined);
  }
}
