import { lstat, rename, rmdir } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import { amount, amountOf, SinkError } from '../../core/index.js';
import type { ExpectedContent, RenameAction } from '../action.js';
import { sha256File } from '../digest.js';
import { errnoOf, unlessMissing } from '../failure.js';

/** A rename that was found to be possible, or to be done. */
export class PreparedRename {
  /** Folders whose names it changes. */
  readonly folders: readonly string[];

  private constructor(
    private readonly action: RenameAction,
    /** What stands at `from`; `undefined` when the rename was done before. */
    private readonly found: Stats | undefined,
  ) {
    this.folders = [dirname(action.from), dirname(action.to)];
  }

  /** One whose `from` is gone was done before when `to` is what it has to be. */
  static async of(action: RenameAction): Promise<PreparedRename> {
    const { from, to, file } = action;
    const found = await lstat(from).catch(unlessMissing(undefined));
    if (found !== undefined) {
      await refuseOccupied(to);
      const fault = file && (await faultOf(from, found, file));
      if (fault !== undefined) throw new SinkError('E_SINK_VERIFY', `cannot commit ${to}: ${from} ${fault}`);
      return new PreparedRename(action, found);
    }
    const arrived = await lstat(to).catch(unlessMissing(undefined));
    if (arrived === undefined) throw new SinkError('E_SINK_WRITE', `cannot commit ${to}: ENOENT: neither it nor ${from} is there`);
    const fault = file && (await faultOf(to, arrived, file));
    if (fault !== undefined) throw new SinkError('E_SINK_VERIFY', `cannot commit ${to}: ${from} is gone, and what stands there ${fault}`);
    return new PreparedRename(action, undefined);
  }

  /** The folder of what it starts from, when that is there. */
  get source(): string | undefined {
    return this.found && dirname(this.action.from);
  }

  /** An empty folder at `to` gives way, since a rename does not replace one. */
  async commit(): Promise<void> {
    if (this.found === undefined) return;
    const { from, to } = this.action;
    await refuseChanged(this.found, from, to);
    await refuseOccupied(to);
    try {
      await rename(from, to);
    } catch (thrown) {
      if (errnoOf(thrown) !== 'EISDIR') throw thrown;
      await rmdir(to);
      await rename(from, to);
    }
  }
}

/** A rename takes the place of a regular file or of nothing; of an empty folder, too, which shows when it is done. */
async function refuseOccupied(to: string): Promise<void> {
  const found = await lstat(to).catch(unlessMissing(undefined));
  if (found === undefined || found.isFile() || found.isDirectory()) return;
  throw new SinkError('E_SINK_FOREIGN', `cannot commit ${to}: what stands there is no file that can be replaced; move it away`);
}

/** The check may be some gigabytes ago. */
export async function refuseChanged(before: Stats, path: string, destination: string): Promise<void> {
  const now = await lstat(path);
  if (before.dev === now.dev && before.ino === now.ino && before.size === now.size && before.mtimeMs === now.mtimeMs) return;
  throw new SinkError('E_SINK_VERIFY', `cannot commit ${destination}: ${path} has changed since it was checked`);
}

/** In what a file differs from what was written; `undefined` when in nothing. */
async function faultOf(path: string, found: Stats, { bytes, sha256 }: ExpectedContent): Promise<string | undefined> {
  if (!found.isFile()) return 'is no regular file';
  if (found.size !== bytes) return `has ${amountOf(found.size, 'byte')}, ${amount(bytes)} were written`;
  if (sha256 === undefined || (await sha256File(path)) === sha256) return undefined;
  return 'has other bytes than were written';
}
