import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './folders.js';

/** How a small file is written. */
export interface ReplaceOptions {
  /** Permissions of the file, narrowed by the umask. Default `0o666`. */
  readonly mode?: number;
  /** Whether the contents outlive a loss of power. Default `false`: they outlive the process. */
  readonly durable?: boolean;
}

/** Ending of a file that is being written; one that a killed process left is rubbish. */
export const temporaryEnding = '.tmp';

/**
 * Puts a whole file in place, so that readers see the old contents or the new, never a part: writes
 * `<path>.<random>.tmp` and renames it.
 *
 * @throws The system's error; the caller knows the words for it.
 */
export async function replaceFile(path: string, data: string | Uint8Array, options: ReplaceOptions = {}): Promise<void> {
  const { mode = 0o666, durable = false } = options;
  const temporary = `${path}.${randomBytes(6).toString('hex')}${temporaryEnding}`;
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(data);
      if (durable) await file.datasync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (failure) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw failure;
  }
  if (durable) await syncFolder(dirname(path));
}
