import { lstat, readdir } from 'node:fs/promises';
import { attempt, unlessMissing } from '../failure.js';

/**
 * Whether something stands at a path. An empty folder is nothing.
 *
 * @throws {SinkError} `E_SINK_PATH` for what cannot be looked at, which may be anything.
 */
export function isOccupied(path: string): Promise<boolean> {
  return attempt('E_SINK_PATH', `cannot read ${path}`, async () => {
    const found = await lstat(path).catch(unlessMissing(undefined));
    return found !== undefined && !(found.isDirectory() && (await readdir(path)).length === 0);
  });
}
