import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isPrivate, unlessMissing } from '../files/index.js';
import { isFresh, readMarker } from './marker.js';
import { logName } from './page-log.js';
import { knownKey, nameOf, type LandedSource } from './source.js';

/**
 * When the first of the runs began that left pages of some sources which a run may use, ISO 8601; `undefined` without such pages.
 * Nothing is locked or asked for, so another run can take the pages away meanwhile.
 *
 * @param folder `<state-dir>/landing`, existing or not.
 * @param maxAgeMs Age from which pages are not used.
 * @throws {LeadstreamError} `E_STATE_FOREIGN` when the folder was not made by leadstream for this user.
 */
export async function firstStart(
  folder: string,
  sources: readonly LandedSource[],
  maxAgeMs: number,
  now: () => number = Date.now,
): Promise<string | undefined> {
  const landings = resolve(folder);
  if (!(await isPrivate(landings))) return undefined;
  const key = await knownKey(landings);
  if (key === undefined) return undefined;
  const found = await Promise.all(sources.map((source) => startOf(join(landings, nameOf(source, key)), now(), maxAgeMs)));
  return found.flatMap((start) => start ?? []).sort()[0];
}

async function startOf(folder: string, now: number, maxAgeMs: number): Promise<string | undefined> {
  const marker = await readMarker(folder);
  if (!isFresh(marker, now, maxAgeMs)) return undefined;
  const log = await stat(join(folder, logName)).catch(unlessMissing(undefined));
  return log !== undefined && log.size > 0 ? marker?.startedAt : undefined;
}
