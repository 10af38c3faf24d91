import { constants, open, type FileHandle } from 'node:fs/promises';
import { errnoOf } from './failure.js';

/** Flags for `open`: do not follow a link, and do not block, as for the writer of a pipe. */
export const inPlace = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Opens a regular file for reading. Refuses links, and does not block on a pipe.
 *
 * @throws The system's error, or one that describes what is there instead.
 */
export async function openRegular(path: string): Promise<FileHandle> {
  const handle = await open(path, constants.O_RDONLY | inPlace).catch((thrown: unknown) => {
    throw errnoOf(thrown) === 'ELOOP' ? new Error(`${path} is a link, not a regular file`) : thrown;
  });
  const found = await handle.stat();
  if (found.isFile()) return handle;
  await handle.close();
  throw new Error(`${path} is not a regular file`);
}

/** Reads a regular file. @throws As `openRegular`. */
export async function readRegular(path: string): Promise<Buffer> {
  const handle = await openRegular(path);
  try {
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}
