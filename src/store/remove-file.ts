import { unlink } from 'node:fs/promises';
import { errnoOf } from './failure.js';

/** Removes a file or link, if it exists. `rm` would examine it twice first, which is most of the cost of cleaning up. */
export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch((thrown: unknown) => {
    if (errnoOf(thrown) !== 'ENOENT') throw thrown;
  });
}
