import { createHash, randomBytes } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { lives, thisProcess, type Owner } from './owner.js';
import { removeFile } from './remove-file.js';

/** Suffix of a file that is being written; one left by a killed process is garbage. */
export const temporaryEnding = '.tmp';

/** Age from which a file whose writer cannot be checked is considered garbage, in milliseconds. */
const maxWriteMs = 3_600_000;

/** Returns `<path>.<place>-<process>-<start>-<random>.tmp`, a name from which others can determine whether the writer is alive. */
export async function temporaryName(path: string): Promise<string> {
  const { pid, started, ...where } = await thisProcess('', '');
  return `${path}.${placeOf(where)}-${pid}-${started ?? ''}-${randomBytes(6).toString('hex')}${temporaryEnding}`;
}

/**
 * Removes from a folder the temporary files whose writers are dead: immediately if that can be determined, otherwise
 * after an hour. Never rejects for a file that cannot be removed.
 *
 * @param isOurs Returns whether a temporary file of this name, without the suffix, is one of the caller's.
 * @throws The system's error if the folder cannot be read.
 */
export async function removeTemporaries(folder: string, isOurs: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, whole, mark] = /^(.+)\.([^.]+)\.tmp$/.exec(name) ?? [];
    if (whole === undefined || mark === undefined || !isOurs(whole)) continue;
    const path = join(folder, name);
    if (await isAbandoned(path, mark)) await removeFile(path).catch(() => undefined);
  }
}

/**
 * Removes the temporary files that killed processes left when writing one file, in a folder that is not leadstream's own. Files with merely similar names
 * stay. Never rejects; a folder that cannot be read is left alone.
 *
 * @param path Path of the file that was to be written.
 */
export async function removeTemporariesOf(path: string): Promise<void> {
  const [folder, file] = [dirname(path), basename(path)];
  for (const name of await readdir(folder).catch(() => [])) {
    const mark = name.startsWith(`${file}.`) && name.endsWith(temporaryEnding) ? name.slice(file.length + 1, -temporaryEnding.length) : '';
    if (!written.test(mark) || !(await isAbandoned(join(folder, name), mark))) continue;
    await removeFile(join(folder, name)).catch(() => undefined);
  }
}

/** What is between the name of a file and the suffix. */
const written = /^([0-9a-f]{16})-(\d+)-(\d*)-[0-9a-f]{12}$/;

async function isAbandoned(path: string, mark: string): Promise<boolean> {
  const [, place, pid, started] = written.exec(mark) ?? [];
  const here = await thisProcess('', '');
  if (place === placeOf(here) && pid !== undefined) {
    const alive = await lives({ ...here, pid: Number(pid), started: started || null });
    if (alive !== undefined) return !alive;
  }
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > maxWriteMs;
}

/** Returns a short digest that identifies the scope of process ids. */
function placeOf({ host, space }: Pick<Owner, 'host' | 'space'>): string {
  return createHash('sha256')
    .update(JSON.stringify([host, space]))
    .digest('hex')
    .slice(0, 16);
}
