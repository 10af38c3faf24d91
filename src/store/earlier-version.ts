import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LeadstreamError } from '../core/index.js';
import { attempt, unlessMissing } from './failure.js';
import { namesInState } from './own.js';

/** Where the previous version stored pending commits and the pages it had read. */
const earlier = { commits: 'publishing', pages: 'landing' };

/**
 * Refuses a state folder in which the previous version left unfinished commits or raw pages. Changes nothing.
 *
 * @param folder Absolute path, existing or not.
 * @throws {LeadstreamError} `E_STATE_VERSION` with the folder and what to do; `E_STATE_FOREIGN` if the state folder cannot be ours.
 */
export async function refuseEarlierState(folder: string): Promise<void> {
  const names = await attempt('E_SINK_PATH', `cannot read ${folder}`, () => namesInState(folder));
  if (names.includes(earlier.commits)) {
    const path = join(folder, earlier.commits);
    const found = await attempt('E_SINK_PATH', `cannot read ${path}`, () => readdir(path).catch(unlessMissing<string[]>([])));
    const commits = found.filter((name) => name.endsWith('.intent.json')).length;
    if (commits > 0) throw refused(path, `${commits} unfinished ${commits === 1 ? 'publication' : 'publications'}`);
  }
  if (names.includes(earlier.pages)) throw refused(join(folder, earlier.pages), 'raw pages');
}

function refused(path: string, what: string): LeadstreamError {
  const remedy = `finish with that version (leadstream run --finish, or run the pipeline again), or remove ${path}`;
  return new LeadstreamError('E_STATE_VERSION', `${path} has ${what} from an earlier version of leadstream; ${remedy}`);
}
