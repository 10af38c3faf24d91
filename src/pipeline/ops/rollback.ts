import { newRunId } from '../../core/index.js';
import { resolve } from 'node:path';
import { finishIntents, lockOutputs, removeIntent, writeIntent, fixedPath } from '../../store/index.js';
import { prepareRollback } from '../../lake/index.js';
import { intentsIn, spentIn } from '../run/start.js';

export interface RollbackOptions {
  /** Run to return to. Default: the newest kept one. */
  readonly to?: string | undefined;
  /** Folder of publications under way, as runs have it. Default `.leadstream`. */
  readonly stateDir?: string;
  /** Key of the HMACs in the log of runs. Default: the run is held against the SHA-256 there. */
  readonly manifestKey?: string | undefined;
}

/**
 * Makes an earlier run of a table the published one again, in one step for its readers. The run that was published is kept, so
 * that the same call can undo it. A kill in between is completed like that of a run.
 *
 * @param path The table, `lake/leads`.
 * @returns The runs that readers saw before (`undefined` when the link of the table was lost), and that they see now.
 * @throws {SinkError} `E_SINK_RUN` when there is no such run or it is damaged, `E_SINK_FOREIGN` when there is no such table.
 * @throws {LeadstreamError} `E_RUN_LOCKED` while a run works on the table.
 */
export async function rollbackTable(
  path: string,
  options: RollbackOptions = {},
): Promise<{ readonly from: string | undefined; readonly to: string }> {
  const table = resolve(path);
  const stateDir = fixedPath(options.stateDir ?? '.leadstream', '--state-dir', process.cwd());
  const intents = intentsIn(stateDir);
  const runId = newRunId();
  const lock = await lockOutputs([table], { runId });
  try {
    await finishIntents(intents, { runId, held: [table], only: ({ outputs }) => outputs.includes(table), removeSpent: spentIn(stateDir) });
    const { from, to, moves } = await prepareRollback(table, options.to, { stateDir, manifestKey: options.manifestKey });
    const publication = await writeIntent(intents, { runId, pipeline: 'rollback', outputs: [table], moves });
    await publication.carryOut();
    await removeIntent(intents, runId);
    return { from, to };
  } finally {
    await lock.release();
  }
}
