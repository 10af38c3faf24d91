import { stat } from 'node:fs/promises';
import { LeadstreamError, newRunId } from '../core/index.js';
import { attempt, recoverCommits, unlessMissing } from '../store/index.js';
import { checkUsage, filledText, object } from '../options/index.js';
import { StateFolder } from './state-folder.js';

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
