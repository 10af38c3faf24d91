import { join } from 'node:path';
import type { z } from 'zod';
import { schema } from '../core/index.js';
import { inState, removeSpool } from '../source/index.js';
import { fixedPath, makePrivate, readOwn, removeFile, removeTemporaries, replaceFile, type LoggedCommit } from '../store/index.js';
import { keepRecovered } from './counts.js';

/** The folder in which runs store state for later ones, and the paths in it. */
export class StateFolder {
  /** Logged commits. */
  readonly redoLog: string;
  /** Raw pages. */
  readonly spool: string;
  /** Counts of earlier runs. */
  readonly counts: string;
  /** Data that does not fit into the memory of a step. */
  readonly scratch: string;
  /** Locks for sinks without a path. */
  readonly sinks: string;
  /** Records of the runs that the pages belong to; private (0700). */
  readonly #begun: string;

  private constructor(readonly path: string) {
    const at = (name: string) => join(path, name);
    [this.redoLog, this.spool, this.counts] = [at('redo-log'), at('spool'), at('counts')];
    [this.scratch, this.sinks, this.#begun] = [at('scratch'), at('sinks'), at('begun')];
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

  /**
   * Reads the record of an interrupted run of a pipeline; returns `undefined` if there is none, or it cannot be read.
   *
   * @throws {LeadstreamError} `E_STATE_FOREIGN` if the file was not created by leadstream for this user.
   */
  async readBegun(pipeline: string): Promise<Begun | undefined> {
    const text = await inState('E_SINK_PATH', `cannot read from ${this.#begun}`, () => readOwn(this.#recordOf(pipeline)));
    try {
      return text === undefined ? undefined : begun().safeParse(JSON.parse(text)).data;
    } catch {
      return undefined;
    }
  }

  /** Records that a run of a pipeline has started, for the run that continues with its pages. @throws {SinkError} `E_SINK_PATH`. */
  async writeBegun(pipeline: string, { startedAt, spoolSince }: Omit<Begun, 'version'>): Promise<void> {
    await inState('E_SINK_PATH', `cannot record in ${this.#begun} that a run has started`, async () => {
      await makePrivate(this.#begun);
      await removeTemporaries(this.#begun, (name) => name.endsWith('.json'));
      await replaceFile(this.#recordOf(pipeline), `${JSON.stringify({ version: 1, startedAt, spoolSince })}\n`, 0o600);
    });
  }

  /** @throws The system's error. */
  async removeBegun(pipeline: string): Promise<void> {
    await removeFile(this.#recordOf(pipeline));
  }

  #recordOf(pipeline: string): string {
    return join(this.#begun, `${pipeline}.json`);
  }
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
type Begun = z.output<ReturnType<typeof begun>>;
