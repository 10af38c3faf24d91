import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './folders.js';
import { temporaryName } from './temporary.js';
import { removeFile } from './remove-file.js';

/** How a small file is written. */
export interface ReplaceOptions {
  /** Permissions of the file, narrowed by the umask. Default `0o666`. */
  readonly mode?: number;
  /** Whether the umask is left aside. Default `false`. */
  readonly exactly?: boolean;
  /** Whether the contents outlive a loss of power. Default `false`: they outlive the process. */
  readonly durable?: boolean;
}

/**
 * Puts a whole file in place, so that readers see the old contents or the new, never a part: writes
 * a temporary file beside it and renames that; `removeTemporaries` removes what killed processes left.
 *
 * @throws The system's error; the caller knows the words for it.
 */
export async function replaceFile(path: string, data: string | Uint8Array, options: ReplaceOptions = {}): Promise<void> {
  const { mode = 0o666, exactly = false, durable = false } = options;
  const temporary = await temporaryName(path);
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
