import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { collectionNames, type Collection } from '../collections/index.js';
import { LeadstreamError } from '../core/index.js';
import type { PipelineTest } from '../pipeline/index.js';
import { openDirectory, startService, type RunningService } from '../service/index.js';

/** The setup of a test's service. */
interface Given {
  readonly test: PipelineTest;
  /** Collections that the pipeline declares and reads. */
  readonly own: readonly Collection[];
  /** Absolute path of `data`. */
  readonly data: string | undefined;
  /** An empty folder for the rows. */
  readonly folder: string;
  readonly key: string;
}

/**
 * Starts the service of a test with its rows.
 *
 * @throws {LeadstreamError} `E_DATA` for rows that cannot be served, `E_USAGE` for a collection that is not paged by number.
 */
export async function startGiven({ test, own, data, folder, key }: Given): Promise<RunningService> {
  const { given = {}, service: { faults } = { faults: [] } } = test;
  const names = [...collectionNames, ...own.map(({ name }) => name)];
  const found = data === undefined ? [] : await filesIn(data, names);
  await mkdir(folder, { recursive: true });
  for (const { entry } of found) await copyFile(join(data ?? '', entry), join(folder, entry));
  for (const [name, rows] of Object.entries(given)) {
    const other = found.find(({ collection }) => collection === name);
    if (other) throw new LeadstreamError('E_DATA', `${name} has rows under given, and in ${other.entry} of ${data}; keep one of them`);
    await writeFile(join(folder, `${name}.ndjson`), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }
  return startService({ source: await openDirectory(folder, own), declared: own, accounts: [{ restApiKey: key }], faults });
}

/** Returns the files of a folder that hold rows of a collection. */
async function filesIn(data: string, names: readonly string[]) {
  const entries = await readdir(data).catch(() => {
    throw new LeadstreamError('E_DATA', `${data}: is not a readable folder`);
  });
  return entries.flatMap((entry) => {
    const collection = /^(.+)\.(?:csv|ndjson|jsonl)$/.exec(entry)?.[1];
    return collection !== undefined && names.includes(collection) ? [{ entry, collection }] : [];
  });
}
