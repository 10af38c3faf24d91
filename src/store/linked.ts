import { constants, copyFile, link, open } from 'node:fs/promises';
import { errnoOf } from './failure.js';

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
