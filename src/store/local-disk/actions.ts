import type { Stats } from 'node:fs';
import { lstat, readdir, readlink, rename, rmdir, symlink, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { z } from 'zod';
import { amount, amountOf, schema, SinkError } from '../../core/index.js';
import { errnoOf, unlessMissing } from '../failure.js';
import { sha256File } from '../files.js';
import type { KnownAction } from '../store.js';

/** Size and digest of a file. */
export interface FileContent {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** Renames an existing file or folder, replacing a file at `to` in one step. Absolute paths. */
export interface RenameAction {
  readonly action: 'rename';
  readonly from: string;
  readonly to: string;
  /**
   * What the file at `from` must contain. A file of an earlier run has no SHA-256 here, since that would mean reading the whole table for every append.
   */
  readonly file?: Pick<FileContent, 'bytes'> & Partial<Pick<FileContent, 'sha256'>>;
}

/**
 * Puts a link in place of another link, an empty folder, or nothing, in one step: readers of `at` see
 * either what it pointed to before or what it points to afterwards.
 */
export interface LinkAction {
  readonly action: 'link';
  /** Where the link is created. Absolute path. */
  readonly at: string;
  /** What it points to, relative to its folder. */
  readonly to: string;
  /** The same link under a name that readers ignore, to be renamed to `at`. Absolute path. */
  readonly draft: string;
}

/** The form of a rename in the redo log. */
export const renameAction = schema((z): z.ZodType<RenameAction> => {
  const content = z.strictObject({ bytes: z.int().nonnegative(), sha256: z.string().exactOptional() });
  return z.strictObject({ action: z.literal('rename'), from: z.string(), to: z.string(), file: content.exactOptional() });
});

const linkAction = schema((z): z.ZodType<LinkAction> =>
  z.strictObject({ action: z.literal('link'), at: z.string(), to: z.string(), draft: z.string() }),
);

/** An action of local disk. */
export interface LocalAction extends KnownAction {
  /** Where readers find its result. */
  readonly destination: string;
  /** The folders whose entries it changes. */
  readonly folders: readonly string[];
  /**
   * Checks that it can be carried out, or already was.
   *
   * @throws {SinkError} As `Store.prepare`.
   * @throws The system's error, for the caller to describe.
   */
  prepare(): Promise<PreparedAction>;
}

/** An action that can be carried out, or already was. */
export interface PreparedAction {
  /** The folder of its source, if that exists. */
  readonly source: string | undefined;
  /** Carries out the action; does nothing if it already was. @throws As `LocalAction.prepare`. */
  commit(): Promise<void>;
}

/** Parses an action; returns `undefined` if it is damaged, or not an action of local disk. */
export function actionIn(value: unknown): LocalAction | undefined {
  const rename = renameAction().safeParse(value).data;
  if (rename) return new Rename(rename);
  const link = linkAction().safeParse(value).data;
  return link && new Link(link);
}

/** Renames a partial file next to an output to the output, or something below the runs of a table to another name there. */
class Rename implements LocalAction {
  constructor(private readonly data: RenameAction) {}

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

  /** If `from` is gone, the rename counts as done when `to` has the expected content. */
  async prepare(): Promise<PreparedAction> {
    const { from, to, file } = this.data;
    const found = await lstat(from).catch(unlessMissing(undefined));
    if (found !== undefined) {
      await refuseOccupied(to);
      const fault = file && (await faultOf(from, found, file));
      if (fault !== undefined) throw new SinkError('E_SINK_VERIFY', `cannot commit ${to}: ${from} ${fault}`);
      return { source: dirname(from), commit: () => renamed(this.data, found) };
    }
    const arrived = await lstat(to).catch(unlessMissing(undefined));
    if (arrived === undefined) throw new SinkError('E_SINK_WRITE', `cannot commit ${to}: ENOENT: neither it nor ${from} exists`);
    const fault = file && (await faultOf(to, arrived, file));
    if (fault !== undefined) throw new SinkError('E_SINK_VERIFY', `cannot commit ${to}: ${from} is gone, and the existing file ${fault}`);
    return { source: undefined, commit: () => Promise.resolve() };
  }
}

/** Removes an empty folder at `to` first, since a rename does not replace one. */
async function renamed({ from, to }: RenameAction, found: Stats): Promise<void> {
  await refuseChanged(found, from, to);
  await refuseOccupied(to);
  try {
    await rename(from, to);
  } catch (thrown) {
    if (errnoOf(thrown) !== 'EISDIR') throw thrown;
    await rmdir(to);
    await rename(from, to);
  }
}

/** Refuses anything but a regular file, a folder or nothing. Whether a folder is empty shows when the rename is done. */
async function refuseOccupied(to: string): Promise<void> {
  const found = await lstat(to).catch(unlessMissing(undefined));
  if (found === undefined || found.isFile() || found.isDirectory()) return;
  throw new SinkError('E_SINK_FOREIGN', `cannot commit ${to}: what exists there is not a file that can be replaced; move it away`);
}

/** Describes how a file differs from what was written; `undefined` if it does not. */
async function faultOf(path: string, found: Stats, { bytes, sha256 }: NonNullable<RenameAction['file']>): Promise<string | undefined> {
  if (!found.isFile()) return 'is not a regular file';
  if (found.size !== bytes) return `has ${amountOf(found.size, 'byte')}, but ${amount(bytes)} were written`;
  if (sha256 === undefined || (await sha256File(path)) === sha256) return undefined;
  return 'has bytes that differ from those written';
}

/** Turns a link below the runs of a table, to the folder of a run there, into the table. */
class Link implements LocalAction {
  constructor(private readonly data: LinkAction) {}

  get words(): string {
    return `link ${this.data.at} to ${this.data.to}`;
  }

  get destination(): string {
    return this.data.at;
  }

  get folders(): readonly string[] {
    return [dirname(this.data.draft), dirname(this.data.at)];
  }

  belongsTo(output: string): boolean {
    const { at, to, draft } = this.data;
    const runs = runsOf(output);
    return at === output && isWithin(draft, runs) && dirname(to) === basename(runs) && /^[\w-]+$/.test(basename(to));
  }

  /** The link may replace a link to another folder of the same runs, an empty folder, or nothing. */
  async prepare(): Promise<PreparedAction> {
    const { at, to, draft } = this.data;
    await placeOf(this.data);
    const found = await lstat(draft).catch(unlessMissing(undefined));
    if (found !== undefined && !(await isLinkTo(draft, to)))
      throw new SinkError('E_SINK_VERIFY', `cannot commit ${at}: ${draft} is not the link to ${to}`);
    return { source: found && dirname(draft), commit: () => put(this.data, found) };
  }
}

/**
 * A rename replaces whatever it finds, so it is used only if one of our links was found there just before. A draft that is gone is created again, unless the
 * link is in place.
 */
async function put(action: LinkAction, found: Stats | undefined): Promise<void> {
  const { at, to, draft } = action;
  if (found !== undefined) await refuseChanged(found, draft, at);
  else if (await isLinkTo(at, to)) return;
  else await symlink(to, draft);
  const place = await placeOf(action);
  if (place === 'link') return rename(draft, at);
  if (place === 'folder') await rmdir(at);
  await symlink(to, at).catch((thrown: unknown) => {
    throw errnoOf(thrown) === 'EEXIST' ? notOurs(at) : thrown;
  });
  await unlink(draft);
}

/** Returns what is at the link's place: another link of the same table, an empty folder, or nothing. */
async function placeOf({ at, to }: LinkAction): Promise<'link' | 'folder' | 'free'> {
  const found = await lstat(at).catch(unlessMissing(undefined));
  if (found === undefined) return 'free';
  if (found.isSymbolicLink() && dirname(await readlink(at)) === dirname(to)) return 'link';
  if (found.isDirectory() && (await readdir(at)).length === 0) return 'folder';
  throw notOurs(at);
}

function notOurs(path: string): SinkError {
  const remedy = 'move it away, so that the link of the table can take its place';
  return new SinkError('E_SINK_FOREIGN', `${path} was not made by leadstream; ${remedy}`);
}

async function isLinkTo(path: string, target: string): Promise<boolean> {
  return (await readlink(path).catch(() => undefined)) === target;
}

/**
 * Checks that something is unchanged since it was checked, which may be several gigabytes ago.
 *
 * @param destination Where it is to be committed, for the message.
 * @throws {SinkError} `E_SINK_VERIFY`.
 */
async function refuseChanged(before: Stats, path: string, destination: string): Promise<void> {
  const now = await lstat(path);
  if (before.dev === now.dev && before.ino === now.ino && before.size === now.size && before.mtimeMs === now.mtimeMs) return;
  throw new SinkError('E_SINK_VERIFY', `cannot commit ${destination}: ${path} has changed since it was checked`);
}

/** Returns the folder `.<name>.runs` next to an output, which contains the runs of a table. */
function runsOf(output: string): string {
  return join(dirname(output), `.${basename(output)}.runs`);
}

/** Returns whether a path lies below a folder, judging by its normalized text alone. */
function isWithin(path: string, folder: string): boolean {
  return resolve(path) === path && path.startsWith(folder + sep);
}

/** Returns whether a path is that of a partial file next to an output, `.<name>.<run>.partial`. */
function isPartialOf(path: string, output: string): boolean {
  const head = join(dirname(output), `.${basename(output)}.`);
  return path.startsWith(head) && /^[\w-]+\.partial$/.test(path.slice(head.length));
}
