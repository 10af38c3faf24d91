import { dirname } from 'node:path';
import { LeadstreamError } from '../../core/index.js';
import { describeAction, destinationOf, type Action } from '../action.js';
import { attempt } from '../failure.js';
import { syncFolder } from '../folders.js';
import { refuseLinks } from '../links.js';
import type { Commit, PreparedCommit, Store } from '../store.js';
import { outputOf } from './confine.js';
import { PreparedLink } from './prepared-link.js';
import { PreparedRename } from './prepared-rename.js';
import { lookAtFile, reserveFile } from './reserve.js';

/** Files and links of this machine. Its actions are renames, the only thing that a local disk does in one step. */
export const localDisk: Store = {
  name: 'local-disk',
  scheme: undefined,
  supports: ['rename', 'link'],
  outputOf,
  prepare: (commit) => PreparedActions.of(commit),
  reserve: reserveFile,
  look: lookAtFile,
};

/** Actions that were found to be possible, or to be done. */
class PreparedActions implements PreparedCommit {
  private constructor(private readonly actions: readonly PreparedAction[]) {}

  static async of({ outputs, actions }: Commit): Promise<PreparedActions> {
    const prepared: PreparedAction[] = [];
    const ways = new Set<string>();
    for (const action of actions) await refuseLinksTo(outputs, action, ways);
    for (const action of actions) {
      const path = destinationOf(action);
      prepared.push({ path, step: await attempt('E_SINK_WRITE', `cannot commit ${path}`, () => prepare(action)) });
    }
    // The redo log may lie on another disk: what it starts from must not be younger than itself after a loss of power.
    for (const folder of new Set(prepared.flatMap(({ step }) => step.source ?? []))) {
      await attempt('E_SINK_WRITE', `cannot make ${folder} durable`, () => syncFolder(folder));
    }
    return new PreparedActions(prepared);
  }

  async commit(): Promise<void> {
    for (const { path, step } of this.actions) await attempt('E_SINK_WRITE', `cannot commit ${path}`, () => step.commit());
    for (const folder of new Set(this.actions.flatMap(({ step }) => step.folders))) {
      await attempt('E_SINK_WRITE', `cannot commit in ${folder}`, () => syncFolder(folder));
    }
  }
}

interface PreparedAction {
  /** Where readers find the result. */
  readonly path: string;
  readonly step: PreparedRename | PreparedLink;
}

function prepare(action: Action): Promise<PreparedRename | PreparedLink> {
  switch (action.action) {
    case 'rename':
      return PreparedRename.of(action);
    case 'link':
      return PreparedLink.of(action);
  }
}

/** @param ways Folders that were looked at already. */
async function refuseLinksTo(outputs: readonly string[], action: Action, ways: Set<string>): Promise<void> {
  const output = outputOf(outputs, action);
  if (output === undefined)
    throw new LeadstreamError('E_RUN_FAILED', `a commit would ${describeAction(action)}, which is no action for an output that it names`);
  const [from, to] = action.action === 'rename' ? [action.from, action.to] : [action.draft, action.at];
  for (const folder of [dirname(from), dirname(to)]) {
    if (!ways.has(folder)) await refuseLinks(dirname(output), folder);
    ways.add(folder);
  }
}
