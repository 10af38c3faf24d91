import { dirname, resolve } from 'node:path';
import { LeadstreamError } from '../../core/index.js';
import { outputOf, type Action } from '../action.js';
import { attempt } from '../failure.js';
import { syncFolder } from '../folders.js';
import { refuseLinks } from '../links.js';
import { LockFile } from '../lock-file.js';
import type { Commit, PreparedCommit, Store } from '../store.js';
import { actionIn, supports } from './actions.js';
import type { LocalAction, PreparedAction } from './local-action.js';
import { isOccupied } from './occupied.js';
import { pathsOverlap } from './overlap.js';
import { lookAtFile, reserveFile } from './reserve.js';

/** Files and links of this machine. Its actions are renames, the only atomic operation of a local disk. */
export const localDisk: Store = {
  name: 'local-disk',
  scheme: undefined,
  holds: 'files on this machine',
  problem: homeProblem,
  resolve: (path, baseDir) => resolve(baseDir, path),
  overlap: pathsOverlap,
  lock: (output, runId) => LockFile.take(output, runId, 0o666),
  isOccupied,
  supports,
  actionIn,
  prepare: (commit) => PreparedActions.of(commit),
  reserve: reserveFile,
  look: lookAtFile,
};

function homeProblem(path: string): string | undefined {
  return /^~[\w.-]*(?:\/|$)/.test(path) ? "only a shell expands '~'; write the path in full, or ${HOME}/…" : undefined;
}

/** Actions that can be carried out, or already were. */
class PreparedActions implements PreparedCommit {
  private constructor(private readonly actions: readonly Planned[]) {}

  static async of({ outputs, actions }: Commit): Promise<PreparedActions> {
    const confined = actions.map((action) => confinedTo(outputs, action));
    const ways = new Set<string>();
    for (const each of confined) await refuseLinksTo(each, ways);
    const planned: Planned[] = [];
    for (const { action } of confined) {
      const { destination } = action;
      planned.push({ action, prepared: await attempt('E_SINK_WRITE', `cannot commit ${destination}`, () => action.prepare()) });
    }
    // The redo log may be on another disk: it must not become durable before the sources do.
    for (const folder of new Set(planned.flatMap(({ prepared }) => prepared.source ?? []))) {
      await attempt('E_SINK_WRITE', `cannot make ${folder} durable`, () => syncFolder(folder));
    }
    return new PreparedActions(planned);
  }

  async commit(): Promise<void> {
    for (const { action, prepared } of this.actions)
      await attempt('E_SINK_WRITE', `cannot commit ${action.destination}`, () => prepared.commit());
    for (const folder of new Set(this.actions.flatMap(({ action }) => action.folders))) {
      await attempt('E_SINK_WRITE', `cannot commit in ${folder}`, () => syncFolder(folder));
    }
  }
}

interface Planned {
  readonly action: LocalAction;
  readonly prepared: PreparedAction;
}

/** An action with the output it is for. */
interface Confined {
  readonly output: string;
  readonly action: LocalAction;
}

/** @throws {LeadstreamError} `E_RUN_FAILED` if it is not an action for any of the outputs. */
function confinedTo(outputs: readonly string[], given: Action): Confined {
  const action = actionIn(given);
  if (action === undefined)
    throw new LeadstreamError('E_RUN_FAILED', `a commit has the action ${given.action}, which local disk does not support`);
  const output = outputOf(outputs, action);
  if (output === undefined)
    throw new LeadstreamError('E_RUN_FAILED', `a commit would ${action.words}, which is not an action on one of its outputs`);
  return { output, action };
}

/** @param ways Folders that are already checked. */
async function refuseLinksTo({ output, action }: Confined, ways: Set<string>): Promise<void> {
  for (const folder of action.folders) {
    if (!ways.has(folder)) await refuseLinks(dirname(output), folder);
    ways.add(folder);
  }
}
