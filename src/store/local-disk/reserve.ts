import { lstat, readdir, readlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SinkError } from '../../core/index.js';
import { attempt, errnoOf } from '../failure.js';
import { makeFolders, refuseUnwritable, removeFolders } from '../folders.js';
import { PartialFile } from './partial-file.js';
import { removeFile } from '../remove-file.js';

/**
 * Reserves a file: creates the folders above it and an empty partial file next to it, `.<name>.<runId>.partial`. Partial files that killed runs left for the
 * same destination are removed, so the caller must hold the lock of the output.
 *
 * @param destination Absolute path. An existing file stays unchanged until the commit.
 * @param mode Permissions of the file. Default `0o600`.
 * @throws {SinkError} `E_SINK_PATH` if the destination is not writable, or is something other than a file.
 */
export async function reserveFile(destination: string, runId: string, mode?: number): Promise<PartialFile> {
  await refuseNoFile(destination);
  const folder = dirname(destination);
  const made = await makeFolders(folder);
  try {
    await removeLeftovers(folder, basename(destination));
    return await PartialFile.open(join(folder, `.${basename(destination)}.${runId}.partial`), destination, made, mode);
  } catch (failure) {
    await removeFolders(made);
    throw failure;
  }
}

/**
 * Checks whether a file can be reserved, without changing anything.
 *
 * @throws {SinkError} `E_SINK_PATH`, as `reserveFile`.
 */
export async function lookAtFile(destination: string): Promise<void> {
  await refuseNoFile(destination);
  await refuseUnwritable(dirname(destination));
}

/** Refuses anything but a file. A rename would replace a pipe, a device or a link (whose target would stay unchanged), and would fail over a folder. */
async function refuseNoFile(destination: string): Promise<void> {
  const found = await attempt('E_SINK_PATH', `cannot write ${destination}`, () =>
    lstat(destination).catch((thrown: unknown) => {
      if (errnoOf(thrown) === 'ENOENT') return undefined;
      throw thrown;
    }),
  );
  if (found === undefined || found.isFile()) return;
  if (found.isSymbolicLink()) {
    const target = await readlink(destination).catch(() => 'elsewhere');
    throw new SinkError('E_SINK_PATH', `cannot write ${destination}: it is a link to ${target}; name that file, or remove the link`);
  }
  throw new SinkError('E_SINK_PATH', `cannot write ${destination}: it is ${found.isDirectory() ? 'a folder' : 'not a regular file'}`);
}

/** Run ids, as created by pipelines (with `Z`) and by sinks in code. In a user's file, any other word may be in this place. */
const runIdForm = /^\d{8}T\d{9}Z?-[0-9a-f]{8}$/;

async function removeLeftovers(folder: string, name: string): Promise<void> {
  const [head, tail] = [`.${name}.`, '.partial'];
  await attempt('E_SINK_PATH', `cannot write in ${folder}`, async () => {
    for (const entry of await readdir(folder)) {
      const run = entry.startsWith(head) && entry.endsWith(tail) ? entry.slice(head.length, -tail.length) : '';
      if (runIdForm.test(run)) await removeFile(join(folder, entry));
    }
  });
}
