import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './folders.js';
import { temporaryName } from './temporary.js';
import { removeFile } from './remove-file.js';

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
