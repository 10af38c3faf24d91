import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { LeadstreamError, newRunId, reasonOf, schema, warnProcess } from '../core/index.js';
import { isInCatalog, prepareCompaction, pointerOfSeveral, storesOption, rollBack, rollBackAll, RunLog, tableAt } from '../lake/index.js';
import type { StoreRun, Evidence, TableAccess } from '../lake/index.js';
import { abortSignal, checkUsage, filledText, object } from '../options/index.js';
import { inState, removeSpool } from '../source/index.js';
import { attempt, fixedPath, fixedPlace, jsonIn, lockOutputs, makePrivate, readOwn, recoverCommits, removeFile } from '../store/index.js';
import type { Action } from '../store/index.js';
import { Stores, removeTemporaries, replaceFile, unlessMissing, type LoggedCommit } from '../store/index.js';
import { keepRecovered } from './counts.js';
import { publish } from './publish.js';

/** `begun`: records of the runs that pages belong to; `sinks`: locks for sinks without a path. */
type Part = 'redo-log' | 'spool' | 'begun' | 'counts' | 'scratch' | 'sinks';

export class StateFolder {
  readonly path: string;

  /** @throws {LeadstreamError} `E_USAGE` if it is not a folder of this machine. */
  constructor(path = '.leadstream', baseDir = process.cwd()) {
    this.path = fixedPath(path, '--state-dir', baseDir);
  }

  folder(part: Part): string {
    return join(this.path, part);
  }

  /** Published pages are always in this folder, whatever path the commit has. */
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
    /** Start of the first of this pipeline's runs that share the pages, ISO 8601. */
    startedAt: z.iso.datetime(),
    /** Distinguishes these pages from others of the source. */
    spoolSince: z.iso.datetime(),
  }),
);

/** A pipeline whose run did not publish. */
type Begun = z.output<ReturnType<typeof begun>>;

/** Carries out the commits that killed runs logged; one that fails stays logged. @returns Names of their pipelines. */
export async function recoverRuns(stateDir: string, baseDir = process.cwd()): Promise<readonly string[]> {
  const state = new StateFolder(stateDir, baseDir);
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
  /** Folder of the redo log of the runs. Default `.leadstream`. */
  readonly stateDir?: string;
}

/** The options of `compactTable`. */
export interface CompactOptions extends Omit<RollbackOptions, 'to'> {
  /** Stops a compaction; nothing is published. */
  readonly signal?: AbortSignal;
}

const returning = object({ to: filledText, stateDir: filledText, stores: storesOption, signal: abortSignal });
const rollingBack = object({ path: filledText, options: returning }, ['path']);

/**
 * Publishes another run of a table, in one step for its readers. The run published until now is kept: `to` with its id undoes the rollback.
 * Without `to`, each call goes back one more run. Tables published together go back together, by the path of their folder. A killed
 * rollback is recovered like a run.
 *
 * @returns The runs that readers saw before (`undefined` if the table's link was lost) and see now, and how the manifest was verified.
 * @throws {SinkError} `E_SINK_RUN` if the run is missing or damaged; `E_SINK_FOREIGN` if there is no such table.
 * @throws {LeadstreamError} `E_USAGE`; `E_RUN_LOCKED` while a run works on the table; `E_STATE_VERSION` for state of another version.
 *
 * @example
 * const { from, to } = await rollbackTable('lake/leads'); // readers see the run before the published one
 */
export async function rollbackTable(
  path: string,
  options: RollbackOptions = {},
): Promise<{ readonly from: string | undefined; readonly to: string; readonly evidence: Evidence }> {
  checkUsage('rollbackTable', rollingBack, { path, options });
  return changed('rollback', path, options);
}

/**
 * Merges a table's small files into files of 128 MB, per partition, in one step for its readers. The rows stay the same, in file order, and
 * so does what later runs are compared with. Earlier runs stay. Other tables published together with it stay unchanged.
 *
 * @returns As `rollbackTable`, with the evidence for the run before; `from` and `to` are equal if there was nothing to do.
 * @throws As `rollbackTable`; {LeadstreamError} `E_STATE_LOG` if the state folder is not the runs', `E_RUN_ABORTED` after the signal;
 * {GateError} `E_GATE_VERIFY` if a file is not what its run wrote; {SinkError} `E_SINK_VERIFY` if rows read back differ.
 *
 * @example
 * const { from, to } = await compactTable('lake/all_leads'); // `to` has one file of 128 MB for many of `from`
 */
export async function compactTable(path: string, options: CompactOptions = {}): ReturnType<typeof rollbackTable> {
  checkUsage('compactTable', rollingBack, { path, options });
  return changed('compact', path, options);
}

async function changed(verb: 'rollback' | 'compact', path: string, options: RollbackOptions & CompactOptions) {
  const place = fixedPlace(path, `${verb}Table`, process.cwd());
  const state = new StateFolder(options.stateDir);
  const redoLog = state.folder('redo-log');
  const runId = newRunId();
  const { signal } = options;
  const stores = options.stores ?? new Stores(undefined, signal);
  const inCatalog = await isInCatalog(place, stores);
  const several = inCatalog ? undefined : await pointerOfSeveral(stores.at(place));
  const places = several ? several.tables.map((table) => `${place}/${table}`) : inCatalog ? [] : [place];
  const lock = await lockOutputs(places, { runId, stores });
  try {
    await recoverCommits(redoLog, { runId, held: [place], only: ({ outputs }) => outputs.includes(place), settle: state.settle });
    const commit = async (actions: readonly Action[], landing?: StoreRun) => {
      let isFinal = false;
      const log = { folder: redoLog, runId, pipeline: verb, logged: () => void (isFinal = true) };
      const nonFatal = (failure: unknown) => warnProcess({ code: 'W_SINK_TIDY', message: `${verb}: cleanup failed: ${reasonOf(failure)}` });
      const outputs = landing ? [{ at: place, prepared: landing }] : [];
      try {
        await lock.check();
        await publish({ outputs, commit: { outputs: [place], actions }, nonFatal }, actions.length > 0 ? log : undefined);
        isFinal = true;
      } finally {
        if (!isFinal) await landing?.abort();
      }
    };
    if (verb === 'compact') {
      const context = { runId, runLog: new RunLog(state.path), stores, scratch: state.folder('scratch'), signal };
      const { change, ...runs } = await prepareCompaction(place, context);
      if (change) await commit(change.actions, change.landing);
      return runs;
    }
    if (several) return await rollBackAll(several, options.to, { stores, stateDir: state.path });
    const { actions, ...done } = await rollBack(await tableAt(place, stores), options.to, { stores, stateDir: state.path });
    if (actions.length > 0) await commit(actions);
    return done;
  } finally {
    await lock.release();
  }
}
