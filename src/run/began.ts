import { join } from 'node:path';
import type { z } from 'zod';
import { schema } from '../core/index.js';
import { makePrivate, readOwn, removeTemporaries, replaceFile, removeFile } from '../store/index.js';
import { inState } from '../source/index.js';

const begun = schema((z) =>
  z.object({
    version: z.literal(1),
    /** When the first of this pipeline's runs that share the pages was started, ISO 8601. */
    startedAt: z.iso.datetime(),
    /** When the spool of the pipeline's collection was started, ISO 8601. It distinguishes these pages from others of the same source. */
    spoolSince: z.iso.datetime(),
  }),
);

/** What is known about a pipeline whose run did not publish. */
export type Begun = Omit<z.output<ReturnType<typeof begun>>, 'version'>;

/**
 * Reads the record of an interrupted run of a pipeline; returns `undefined` if there is none, or it cannot be read.
 *
 * @param folder `<state-dir>/begun`, existing or not.
 * @throws {LeadstreamError} `E_STATE_FOREIGN` if the file was not created by leadstream for this user.
 */
export async function readBegun(folder: string, pipeline: string): Promise<Begun | undefined> {
  const text = await inState('E_SINK_PATH', `cannot read from ${folder}`, () => readOwn(pathOf(folder, pipeline)));
  try {
    return text === undefined ? undefined : begun().safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * Records that a run of a pipeline has started, for the run that continues with its pages.
 *
 * @param folder `<state-dir>/begun`; created if missing, private (0700).
 * @throws {SinkError} `E_SINK_PATH`.
 */
export async function writeBegun(folder: string, pipeline: string, { startedAt, spoolSince }: Begun): Promise<void> {
  await inState('E_SINK_PATH', `cannot record in ${folder} that a run has started`, async () => {
    await makePrivate(folder);
    await removeTemporaries(folder, (name) => name.endsWith(ending));
    await replaceFile(pathOf(folder, pipeline), `${JSON.stringify({ version: 1, startedAt, spoolSince })}\n`, { mode: 0o600 });
  });
}

/** @throws The system's error. */
export async function removeBegun(folder: string, pipeline: string): Promise<void> {
  await removeFile(pathOf(folder, pipeline));
}

const ending = '.json';

function pathOf(folder: string, pipeline: string): string {
  return join(folder, pipeline + ending);
}
