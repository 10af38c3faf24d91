import { lstat, rename, rmdir } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import { amount, amountOf, SinkError } from '../../core/index.js';
import { sha256File } from '../digest.js';
import { errnoOf, unlessMissing } from '../failure.js';
import { isPartialOf, isWithin, runsOf } from './confine.js';
import type { LocalAction, PreparedAction } from './local-action.js';
import { renameAction, type ExpectedContent, type RenameAction } from './rename-action.js';
import { refuseChanged } from './unchanged.js';

/** Renames a partial file next to an output to the output, or something below the runs of a table to another name there. */
export class Rename implements LocalAction {
  static readonly action = 'rename';

  private constructor(private readonly data: RenameAction) {}

  /** Returns `undefined` for anything that is not a rename. */
  static in(value: unknown): Rename | undefined {
    const { data } = renameAction().safeParse(value);
    return data && new Rename(data);
  }

  get words(): string {
    return `rename ${this.data.from} to ${this.data.to}`;
  }

  get destination(): string {
    return this.data.to;
  }

  get folders(): readonly string[] {
    return [dirname(this.data.from), dirname(this.data.to)];
  }

  /** A file that becomes an output must have a SHA-256. */
  belongsTo(output: string): boolean {
    const { from, to, file } = this.data;
    const runs = runsOf(output);
    if (isWithin(from, runs)) return isWithin(to, runs);
    return to === output && file?.sha256 !== undefined && isPartialOf(from, output);
  }

  prepare(): Promise<PreparedAction> {
    return PreparedRename.of(this.data);
  }
}

class PreparedRename implements PreparedAction {
  private constructor(
    private readonly action: RenameAction,
    /** What is at `from`; `undefined` if the rename was already done. */
    private readonly found: Stats | undefined,
  ) {}

  /** Prepares a rename. If `from` is gone, the rename counts as done when `to` has the expected content. */
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
    if (arrived === undefined) throw new SinkError('E_SINK_WRITE', `cannot commit ${to}: ENOENT: neither it nor ${from} exists`);
    const fault = file && (await faultOf(to, arrived, file));
    if (fault !== undefined) throw new SinkError('E_SINK_VERIFY', `cannot commit ${to}: ${from} is gone, and the existing file ${fault}`);
    return new PreparedRename(action, undefined);
  }

  get source(): string | undefined {
    return this.found && dirname(this.action.from);
  }

  /** Removes an empty folder at `to` first, since a rename does not replace one. */
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

/** Refuses anything but a regular file, a folder or nothing. Whether a folder is empty shows when the rename is done. */
async function refuseOccupied(to: string): Promise<void> {
  const found = await lstat(to).catch(unlessMissing(undefined));
  if (found === undefined || found.isFile() || found.isDirectory()) return;
  throw new SinkError('E_SINK_FOREIGN', `cannot commit ${to}: what exists there is not a file that can be replaced; move it away`);
}

/** Describes how a file differs from what was written; `undefined` if it does not. */
async function faultOf(path: string, found: Stats, { bytes, sha256 }: ExpectedContent): Promise<string | undefined> {
  if (!found.isFile()) return 'is not a regular file';
  if (found.size !== bytes) return `has ${amountOf(found.size, 'byte')}, but ${amount(bytes)} were written`;
  if (sha256 === undefined || (await sha256File(path)) === sha256) return undefined;
  return 'has bytes that differ from those written';
}
