import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isPrivate, unlessMissing } from '../../store/index.js';
import { isFresh, readMarker } from './marker.js';
import { logName } from './page-log.js';
import { inState } from './place.js';
import { knownKey, nameOf, type SpooledSource } from './source.js';

/**
 * Returns when the usable spool of a source was started, ISO 8601; `undefined` if there are no usable pages. Nothing is locked or
 * requested, so another run can take the pages meanwhile.
 *
 * @param folder `<state-dir>/spool`, existing or not.
 * @param maxAgeMs Age from which pages are not used.
 * @throws {LeadstreamError} `E_STATE_FOREIGN` if the folder was not created by leadstream for this user.
 */
export async function spooledSince(
  folder: string,
  source: SpooledSource,
  maxAgeMs: number,
  now: () => number = Date.now,
): Promise<string | undefined> {
  const spools = resolve(folder);
  return inState('E_SINK_PATH', `cannot look for spooled pages in ${spools}`, async () => {
    if (!(await isPrivate(spools))) return undefined;
    const key = await knownKey(spools);
    if (key === undefined) return undefined;
    const path = join(spools, nameOf(source, key));
    const marker = await readMarker(path);
    if (!isFresh(marker, now(), maxAgeMs)) return undefined;
    const log = await stat(join(path, logName)).catch(unlessMissing(undefined));
    return log !== undefined && log.size > 0 ? marker?.startedAt : undefined;
  });
}
