import { chmod, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SinkError } from '../errors.js';
import { attempt, errnoOf, makeFolders } from '../files/index.js';

/**
 * Does something in the state folder; failures say which option moves it.
 *
 * @throws {SinkError} `code`: `E_SINK_PATH` while a landing is being opened, `E_SINK_WRITE` from then on.
 */
export async function inState<T>(code: 'E_SINK_PATH' | 'E_SINK_WRITE', what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await attempt(code, what, work);
  } catch (failure) {
    if (!(failure instanceof SinkError)) throw failure;
    throw new SinkError(failure.code, `${failure.message}; --state-dir chooses another place`, { cause: failure });
  }
}

/** Makes a folder that nobody else may look into, also when it was there and open to others. */
export async function makePrivate(folder: string): Promise<void> {
  await makeFolders(dirname(folder));
  await mkdir(folder, { mode: 0o700 }).catch((thrown: unknown) => {
    if (errnoOf(thrown) !== 'EEXIST') throw thrown;
  });
  await chmod(folder, 0o700);
}
