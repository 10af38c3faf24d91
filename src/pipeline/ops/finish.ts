import { stat } from 'node:fs/promises';
import { newRunId, LeadstreamError } from '../../core/index.js';
import { attempt, finishIntents, unlessMissing, fixedPath } from '../../store/index.js';
import { intentsIn, spentIn } from '../run/start.js';

/**
 * Completes the publications that killed runs had decided.
 *
 * @param stateDir Folder that the runs were given, usually `.leadstream`.
 * @param baseDir Folder that a relative one resolves against. Default: the working directory.
 * @returns Names of the pipelines whose publication was completed.
 * @throws {LeadstreamError} `E_USAGE` for a state folder that is no folder of this machine, or is not there.
 */
export async function finishRuns(stateDir: string, baseDir = process.cwd()): Promise<readonly string[]> {
  const folder = fixedPath(stateDir, '--state-dir', baseDir);
  const found = await attempt('E_SINK_PATH', `cannot read ${folder}`, () => stat(folder).catch(unlessMissing(undefined)));
  if (!found?.isDirectory()) {
    const remedy = 'name the one that the runs were given by --state-dir, or change into the folder that they ran in';
    throw new LeadstreamError('E_USAGE', `there is no state folder ${folder}; ${remedy}`);
  }
  const finished = await finishIntents(intentsIn(folder), { runId: newRunId(), removeSpent: spentIn(folder) });
  return finished.map(({ pipeline }) => pipeline);
}
