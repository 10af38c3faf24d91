import { unlink } from 'node:fs/promises';
import { errnoOf } from './failure.js';

/** Removes the file or link of a name, if there is one. `rm` looks at it twice before, which is most of what tidying up takes. */
export async function removeFile(path: string): Promise<void> {
  await unlink(path).catch((thrown: unknown) => {
    if (errnoOf(thrown) !== 'ENOENT') throw thrown;
  });
}
