import { stat } from 'node:fs/promises';
import { LeadstreamError, newRunId } from '../core/index.js';
import { attempt, recoverCommits, unlessMissing, forgetCommit, lockOutputs, logCommit, fixedPath } from '../store/index.js';
import { checkUsage, filledText, object } from '../options/index.js';
import { StateFolder } from './state.js';
import { prepareRollback, type Evidence } from '../lake/index.js';

const taken = object({ stateDir: filledText, baseDir: filledText }, ['stateDir']);

/**
 * Carries out the commits that killed runs had logged.
 *
 * @param stateDir State folder of these runs, usually `.leadstream`.
 * @param baseDir Folder that a relative path resolves against. Default: the working directory.
 * @returns Names of the pipelines whose commit was recovered.
 * @throws {LeadstreamError} `E_USAGE` if the state folder is not a folder of this machine, or does not exist; `E_STATE_VERSION` for state of another version.
 * @throws {SinkError} If a commit cannot be carried out; it stays in the log, and the message explains how to give it up.
 *
 * @example
 * const completed = await recoverRuns('.leadstream'); // what killed runs had decided to publish is published
 */
export async function recoverRuns(stateDir: string, baseDir = process.cwd()): Promise<readonly string[]> {
  checkUsage('recoverRuns', taken, { stateDir, baseDir });
  const { path, redoLog, settle } = StateFolder.at(stateDir, baseDir);
  const found = await attempt('E_SINK_PATH', `cannot read ${path}`, () => stat(path).catch(unlessMissing(undefined)));
  if (!found?.isDirectory()) {
    const remedy = 'pass the --state-dir that the runs used, or change to the folder that they ran in';
    throw new LeadstreamError('E_USAGE', `there is no state folder ${path}; ${remedy}`);
  }
  const recovered = await recoverCommits(redoLog, { runId: newRunId(), settle });
  return recovered.map(({ pipeline }) => pipeline);
}

/** The run that a table returns to, and the state folder of the runs. */
export interface RollbackOptions {
  /** Run to publish, earlier or later. Default: the one that the published run replaced. */
  readonly to?: string | undefined;
  /** Folder of the redo log, as used by the runs. Default `.leadstream`. */
  readonly stateDir?: string;
}

const returning = object({ to: filledText, stateDir: filledText });
const rollingBack = object({ path: filledText, options: returning }, ['path']);

/**
 * Publishes an earlier run of a table again, in one step for its readers. The run published until now is kept, and calling this with its id as `to` undoes the
 * rollback. Without `to`, each call goes back one more run. If the process is killed, the rollback is recovered like a run.
 *
 * @param path The table, `lake/leads`.
 * @returns The runs that readers saw before (`undefined` if the link of the table was lost) and see now, and how the manifest of the latter was
 * verified; `none` if no run log in the state folder contains it.
 * @throws {SinkError} `E_SINK_RUN` if there is no such run, or none before the published one, or it is damaged; `E_SINK_FOREIGN` if there is no such table.
 * @throws {LeadstreamError} `E_USAGE` for invalid arguments; `E_RUN_LOCKED` while a run is working
 * on the table; `E_STATE_VERSION` for state of another version.
 *
 * @example
 * const { from, to } = await rollbackTable('lake/leads'); // readers see the run before the published one
 */
export async function rollbackTable(
  path: string,
  options: RollbackOptions = {},
): Promise<{ readonly from: string | undefined; readonly to: string; readonly evidence: Evidence }> {
  checkUsage('rollbackTable', rollingBack, { path, options });
  const table = fixedPath(path, 'rollbackTable', process.cwd());
  const { path: stateDir, redoLog, settle } = StateFolder.at(options.stateDir, process.cwd());
  const runId = newRunId();
  const lock = await lockOutputs([table], { runId });
  try {
    await recoverCommits(redoLog, { runId, held: [table], only: ({ outputs }) => outputs.includes(table), settle });
    const { from, to, evidence, actions } = await prepareRollback(table, options.to, { stateDir });
    const prepared = await logCommit(redoLog, { runId, pipeline: 'rollback', outputs: [table], actions });
    await prepared.commit();
    await forgetCommit(redoLog, runId);
    return { from, to, evidence };
  } finally {
    await lock.release();
  }
}
