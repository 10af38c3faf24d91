import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { LeadstreamError, newRunId, schema } from '../core/index.js';
import {
  isInCatalog,
  prepareRollback,
  pointerOfSeveral,
  storesTaken,
  rollBack,
  rollBackAll,
  StoreTable,
  tableAt,
  type Evidence,
  type TableAccess,
} from '../lake/index.js';
import { checkUsage, filledText, object } from '../options/index.js';
import { inState, removeSpool } from '../source/index.js';
import {
  attempt,
  fixedPath,
  fixedPlace,
  forgetCommit,
  jsonIn,
  lockOutputs,
  logCommit,
  makePrivate,
  readOwn,
  recoverCommits,
  removeFile,
} from '../store/index.js';
import { Stores, removeTemporaries, replaceFile, unlessMissing, type LoggedCommit } from '../store/index.js';
import { keepRecovered } from './counts.js';

/** `begun`: records of the runs that pages belong to; `sinks`: locks for sinks without a path. */
type Part = 'redo-log' | 'spool' | 'begun' | 'counts' | 'scratch' | 'sinks';

/** The folder in which runs store state for later ones. */
export class StateFolder {
  private constructor(readonly path: string) {}

  /** @throws {LeadstreamError} `E_USAGE` if it is not a folder of this machine. */
  static at(path = '.leadstream', baseDir: string): StateFolder {
    return new StateFolder(fixedPath(path, '--state-dir', baseDir));
  }

  folder(part: Part): string {
    return join(this.path, part);
  }

  /** The published pages are always those of this folder, whatever path the commit has for them. */
  readonly settle = async (commit: LoggedCommit): Promise<void> => {
    for (const folder of commit.spent ?? []) await removeSpool(this.folder('spool'), folder);
    await keepRecovered(this.folder('counts'), commit);
  };

  async readBegun(pipeline: string): Promise<Begun | undefined> {
    const text = await inState('E_SINK_PATH', `cannot read from ${this.folder('begun')}`, () => readOwn(this.#recordOf(pipeline)));
    return begun().safeParse(jsonIn(text ?? '')).data;
  }

  async writeBegun(pipeline: string, { startedAt, spoolSince }: Omit<Begun, 'version'>): Promise<void> {
    await inState('E_SINK_PATH', `cannot record in ${this.folder('begun')} that a run has started`, async () => {
      await makePrivate(this.folder('begun'));
      await removeTemporaries(this.folder('begun'), (name) => name.endsWith('.json'));
      await replaceFile(this.#recordOf(pipeline), `${JSON.stringify({ version: 1, startedAt, spoolSince })}\n`, 0o600);
    });
  }

  async removeBegun(pipeline: string): Promise<void> {
    await removeFile(this.#recordOf(pipeline));
  }

  #recordOf(pipeline: string): string {
    return join(this.folder('begun'), `${pipeline}.json`);
  }
}

const begun = schema((z) =>
  z.object({
    version: z.literal(1),
    /** When the first of this pipeline's runs that share the pages was started, ISO 8601. */
    startedAt: z.iso.datetime(),
    /** Distinguishes these pages from others of the same source. */
    spoolSince: z.iso.datetime(),
  }),
);

/** What is known about a pipeline whose run did not publish. */
type Begun = z.output<ReturnType<typeof begun>>;

/** Carries out the commits that killed runs had logged; one that cannot be carried out stays there. @returns Names of their pipelines. */
export async function recoverRuns(stateDir: string, baseDir = process.cwd()): Promise<readonly string[]> {
  const state = StateFolder.at(stateDir, baseDir);
  const { path, settle } = state;
  const found = await attempt('E_SINK_PATH', `cannot read ${path}`, () => stat(path).catch(unlessMissing(undefined)));
  if (!found?.isDirectory()) {
    const remedy = 'pass the --state-dir that the runs used, or change to the folder that they ran in';
    throw new LeadstreamError('E_USAGE', `there is no state folder ${path}; ${remedy}`);
  }
  const recovered = await recoverCommits(state.folder('redo-log'), { runId: newRunId(), settle });
  return recovered.map(({ pipeline }) => pipeline);
}

/** The options of `rollbackTable`. */
export interface RollbackOptions extends TableAccess {
  /** Run to publish, earlier or later. Default: the one that the published run replaced. */
  readonly to?: string | undefined;
  /** Folder of the redo log, as used by the runs. Default `.leadstream`. */
  readonly stateDir?: string;
}

const returning = object({ to: filledText, stateDir: filledText, stores: storesTaken });
const rollingBack = object({ path: filledText, options: returning }, ['path']);

/**
 * Publishes an earlier run of a table again, in one step for its readers. The run published until now is kept: `to` with its id undoes
 * the rollback. Without `to`, each call goes back one more run. Tables that are published together go back together, by the path of their folder. If the process is killed, the rollback is recovered like a run.
 *
 * @returns The runs that readers saw before (`undefined` if the link of the table was lost) and see now, and how the manifest was verified.
 * @throws {SinkError} `E_SINK_RUN` if there is no such run, or it is damaged; `E_SINK_FOREIGN` if there is no such table.
 * @throws {LeadstreamError} `E_USAGE`; `E_RUN_LOCKED` while a run is working on the table; `E_STATE_VERSION` for state of another version.
 *
 * @example
 * const { from, to } = await rollbackTable('lake/leads'); // readers see the run before the published one
 */
export async function rollbackTable(
  path: string,
  options: RollbackOptions = {},
): Promise<{ readonly from: string | undefined; readonly to: string; readonly evidence: Evidence }> {
  checkUsage('rollbackTable', rollingBack, { path, options });
  const place = fixedPlace(path, 'rollbackTable', process.cwd());
  const state = StateFolder.at(options.stateDir, process.cwd());
  const redoLog = state.folder('redo-log');
  const runId = newRunId();
  const stores = options.stores ?? new Stores();
  const inCatalog = await isInCatalog(place, stores);
  const several = inCatalog ? undefined : await pointerOfSeveral(stores.at(place));
  const places = several ? several.tables.map((table) => `${place}/${table}`) : inCatalog ? [] : [place];
  const lock = await lockOutputs(places, { runId, stores });
  try {
    await recoverCommits(redoLog, { runId, held: [place], only: ({ outputs }) => outputs.includes(place), settle: state.settle });
    if (several) return await rollBackAll(several, options.to, { stores, stateDir: state.path });
    const table = await tableAt(place, stores);
    if (table instanceof StoreTable) return await rollBack(table, options.to, { stores, stateDir: state.path });
    const { from, to, evidence, actions } = await prepareRollback(table, options.to, { stateDir: state.path });
    const prepared = await logCommit(redoLog, { runId, pipeline: 'rollback', outputs: [place], actions });
    await prepared.commit();
    await forgetCommit(redoLog, runId);
    return { from, to, evidence };
  } finally {
    await lock.release();
  }
}
