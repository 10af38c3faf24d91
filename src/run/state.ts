import { join } from 'node:path';
import type { z } from 'zod';
import { fixedPath, type LoggedCommit, makePrivate, readOwn, removeTemporaries, replaceFile, removeFile } from '../store/index.js';
import { removeSpool, inState } from '../source/index.js';
import { keepRecovered } from './counts.js';
import { schema } from '../core/index.js';

/** The folder in which runs store state for later ones, and the paths in it. */
export class StateFolder {
  /** Logged commits. */
  readonly redoLog: string;
  /** Raw pages. */
  readonly spool: string;
  /** Records of the runs that the pages belong to. */
  readonly begun: string;
  /** Counts of earlier runs. */
  readonly counts: string;
  /** Data that does not fit into the memory of a step. */
  readonly scratch: string;
  /** Locks for sinks without a path. */
  readonly sinks: string;

  private constructor(readonly path: string) {
    [this.redoLog, this.spool] = [join(path, 'redo-log'), join(path, 'spool')];
    [this.begun, this.counts, this.scratch] = [join(path, 'begun'), join(path, 'counts'), join(path, 'scratch')];
    this.sinks = join(path, 'sinks');
  }

  /**
   * @param baseDir Folder that a relative path resolves against.
   * @throws {LeadstreamError} `E_USAGE` if it is not a folder of this machine.
   */
  static at(path = '.leadstream', baseDir: string): StateFolder {
    return new StateFolder(fixedPath(path, '--state-dir', baseDir));
  }

  /**
   * Does the remaining work of a recovered commit: removes the published pages, which are always those of this state folder,
   * whatever path the commit has for them, and stores the counts.
   */
  readonly settle = async (commit: LoggedCommit): Promise<void> => {
    for (const folder of commit.spent ?? []) await removeSpool(this.spool, folder);
    await keepRecovered(this.counts, commit);
  };
}

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
type Begun = Omit<z.output<ReturnType<typeof begun>>, 'version'>;

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
