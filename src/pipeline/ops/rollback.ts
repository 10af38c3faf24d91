import { newRunId } from '../../core/index.js';
import { forgetCommit, lockOutputs, logCommit, recoverCommits, refuseEarlierState, writtenTable } from '../../store/index.js';
import { prepareRollback, type Evidence } from '../../lake/index.js';
import { checkUsage, filledText, object } from '../../options/index.js';
import { StateFolder } from '../run/state-folder.js';

/** To which run a table returns, and where the runs have their state. */
export interface RollbackOptions {
  /** Run to publish, an earlier or a later one. Default: the one that the published run replaced. */
  readonly to?: string | undefined;
  /** Folder of the redo log, as runs have it. Default `.leadstream`. */
  readonly stateDir?: string;
  /** Key of the HMACs in the log of runs. Default: the run is held against the SHA-256 there. */
  readonly manifestKey?: string | undefined;
}

const returning = object({ to: filledText, stateDir: filledText, manifestKey: filledText });
const taken = object({ path: filledText, options: returning }, ['path']);

/**
 * Makes an earlier run of a table the published one again, in one step for its readers. The run that was published is kept, and `to` with
 * its name undoes it: without `to`, each call goes one run further back. A kill in between is recovered like that of a run.
 *
 * @param path The table, `lake/leads`.
 * @returns The runs that readers saw before (`undefined` when the link of the table was lost), and that they see now; and by what the manifest
 * of that one was found to be as it had been written, `none` where no log of runs in the state folder has it.
 * @throws {SinkError} `E_SINK_RUN` when there is no such run, none before the published one, or it is damaged, `E_SINK_FOREIGN` when there is no such table.
 * @throws {LeadstreamError} `E_USAGE` for arguments that cannot be right; `E_RUN_LOCKED` while a run works on the table; `E_STATE_VERSION` for what another version left in the state folder.
 *
 * @example
 * const { from, to } = await rollbackTable('lake/leads'); // readers see the run before the published one
 */
export async function rollbackTable(
  path: string,
  options: RollbackOptions = {},
): Promise<{ readonly from: string | undefined; readonly to: string; readonly evidence: Evidence }> {
  checkUsage('rollbackTable', taken, { path, options });
  const table = writtenTable(path, 'rollbackTable', process.cwd());
  const { path: stateDir, redoLog, settle } = StateFolder.at(options.stateDir, process.cwd());
  await refuseEarlierState(stateDir);
  const runId = newRunId();
  const lock = await lockOutputs([table], { runId });
  try {
    await recoverCommits(redoLog, { runId, held: [table], only: ({ outputs }) => outputs.includes(table), settle });
    const { from, to, evidence, actions } = await prepareRollback(table, options.to, { stateDir, manifestKey: options.manifestKey });
    const prepared = await logCommit(redoLog, { runId, pipeline: 'rollback', outputs: [table], actions });
    await prepared.commit();
    await forgetCommit(redoLog, runId);
    return { from, to, evidence };
  } finally {
    await lock.release();
  }
}
