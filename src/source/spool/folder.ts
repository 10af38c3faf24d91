import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, temporaryEnding, removeFile } from '../../store/index.js';
import { markerName } from './marker.js';
import { logName } from './page-log.js';

/** Removes what killed runs left half-written in the folder of a source, and the files of an earlier version, which had one per page. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (isLeftover(name)) await removeFile(join(folder, name));
}

/** Removes the folder of a source with all files of leadstream; the folder stays if it contains anything else. */
export async function removeSource(folder: string): Promise<void> {
  const names = await readdir(folder).catch((thrown: unknown) => {
    if (errnoOf(thrown) === 'ENOENT') return [];
    throw thrown;
  });
  // The marker goes last, so that the remains of an interrupted removal still have an age.
  for (const name of [...names.filter(isLeftover), logName, markerName]) await removeFile(join(folder, name));
  await rmdir(folder).catch(() => undefined);
}

const earlierPage = /^page-\d{7,}\.\d+\.[0-9a-f]{32}\.json$/;

function isLeftover(name: string): boolean {
  if (name.endsWith(temporaryEnding)) return name.startsWith('page-') || name.startsWith(markerName);
  return earlierPage.test(name);
}
