import { lstat, readdir } from 'node:fs/promises';
import { dirname, resolve, basename, join, sep } from 'node:path';
import { realpathSync } from 'node:fs';
import { LeadstreamError } from '../../core/index.js';
import { attempt, unlessMissing } from '../failure.js';
import { refuseLinks, syncFolder } from '../files.js';
import { LockFile } from '../lock-file.js';
import { outputOf, type Action, type Commit, type PreparedCommit, type Store } from '../store.js';
import { actionIn, type LocalAction, type PreparedAction } from './actions.js';
import { reserveFile } from './partial-file.js';

/** Files and links of this machine. Its actions are renames, the only atomic operation of a local disk. */
export const localDisk: Store = {
  name: 'local-disk',
  scheme: undefined,
  holds: 'files on this machine',
  resolve: (path, baseDir) => resolve(baseDir, path),
  overlap: pathsOverlap,
  lock: (output, runId) => LockFile.take(output, runId, 0o666),
  isOccupied,
  actionIn,
  prepare,
  reserve: reserveFile,
};

async function prepare({ outputs, actions }: Commit): Promise<PreparedCommit> {
  const confined = actions.map((action) => confinedTo(outputs, action));
  await refuseLinksTo(confined);
  const planned: { readonly action: LocalAction; readonly prepared: PreparedAction }[] = [];
  for (const { action } of confined) {
    const { destination } = action;
    planned.push({ action, prepared: await attempt('E_SINK_WRITE', `cannot commit ${destination}`, () => action.prepare()) });
  }
  // The redo log may be on another disk: it must not become durable before the sources do.
  for (const folder of new Set(planned.flatMap(({ prepared }) => prepared.source ?? []))) {
    await attempt('E_SINK_WRITE', `cannot make ${folder} durable`, () => syncFolder(folder));
  }
  return {
    async commit() {
      for (const { action, prepared } of planned)
        await attempt('E_SINK_WRITE', `cannot commit ${action.destination}`, () => prepared.commit());
      for (const folder of new Set(planned.flatMap(({ action }) => action.folders))) {
        await attempt('E_SINK_WRITE', `cannot commit in ${folder}`, () => syncFolder(folder));
      }
    },
  };
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

async function refuseLinksTo(confined: readonly Confined[]): Promise<void> {
  const checked = new Set<string>();
  for (const { output, action } of confined)
    for (const folder of action.folders) {
      if (!checked.has(folder)) await refuseLinks(dirname(output), folder);
      checked.add(folder);
    }
}

function isOccupied(path: string): Promise<boolean> {
  return attempt('E_SINK_PATH', `cannot read ${path}`, async () => {
    const found = await lstat(path).catch(unlessMissing(undefined));
    return found !== undefined && !(found.isDirectory() && (await readdir(path)).length === 0);
  });
}

/**
 * Returns whether writing one output would write over or into the other, or into a file that leadstream has next to it (`.<name>.lock` and so on), through any
 * links. An output that is itself a link is not followed: the link of a table is replaced, any other is refused.
 *
 * @param a Absolute path of a file, or of the link of a table, existing or not; the same applies to `b`.
 */
function pathsOverlap(a: string, b: string): boolean {
  const [one, other] = [placeOf(a), placeOf(b)];
  return takes(one, other) || takes(other, one);
}

function placeOf(path: string): string {
  return join(realOf(dirname(path)), basename(path));
}

/** Returns whether a place is that of an output, is inside it, or has a name that belongs to it. */
function takes(output: string, place: string): boolean {
  if (place === output || place.startsWith(output + sep)) return true;
  const hidden = join(dirname(output), `.${basename(output)}.`);
  const [name = ''] = place.slice(hidden.length).split(sep);
  return place.startsWith(hidden) && hiddenEnding.test(name);
}

/** What follows `.<name>.`: the runs of a table and those that a gate refused, locks, and files being written. */
const hiddenEnding = /^(?:runs|failed|lock(?:-[^/]+\.lock)?|[\w-]+\.partial)$/;

/** Resolves the links of a path that need not exist. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realOf(dirname(path)), basename(path));
  }
}
