import { lstat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { SinkError } from '../core/index.js';
import { attempt, unlessMissing } from './failure.js';

/**
 * Checks that nothing between two folders is a link. All folders there are leadstream's own.
 *
 * @param above Absolute path; it may be a link or lead through links.
 * @param folder Absolute path below it, existing or not.
 * @throws {SinkError} `E_SINK_FOREIGN` naming the link, or whatever is not a folder; `E_SINK_PATH` for a folder that cannot be entered.
 */
export async function refuseLinks(above: string, folder: string): Promise<void> {
  let at = above;
  for (const name of relative(above, folder).split(sep).filter(Boolean)) {
    at = join(at, name);
    const found = await attempt('E_SINK_PATH', `cannot access ${at} (every folder above it must be accessible)`, () =>
      lstat(at).catch(unlessMissing(undefined)),
    );
    if (found === undefined) return;
    if (found.isSymbolicLink()) throw linkInTheWay(at);
    if (!found.isDirectory()) throw noFolder(at);
  }
}

/** Creates the error for a link where a folder of leadstream belongs. */
export function linkInTheWay(path: string): SinkError {
  return new SinkError(
    'E_SINK_FOREIGN',
    `${path} is a link where leadstream keeps a folder of its own; check where it points, and remove it`,
  );
}

function noFolder(path: string): SinkError {
  const remedy = 'check what it is, and move it away';
  return new SinkError('E_SINK_FOREIGN', `${path} is not a folder, but leadstream keeps a folder of its own there; ${remedy}`);
}
