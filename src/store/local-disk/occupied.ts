import { lstat, readdir } from 'node:fs/promises';
import { attempt, unlessMissing } from '../failure.js';

/**
 * Returns whether anything is at a path. An empty folder counts as nothing.
 *
 * @throws {SinkError} `E_SINK_PATH` if the path cannot be examined, since anything may be there.
 */
export function isOccupied(path: string): Promise<boolean> {
  return attempt('E_SINK_PATH', `cannot read ${path}`, async () => {
    const found = await lstat(path).catch(unlessMissing(undefined));
    return found !== undefined && !(found.isDirectory() && (await readdir(path)).length === 0);
  });
}
