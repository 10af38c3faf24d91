import type { Stats } from 'node:fs';
import { lstat, readdir, readlink, rename, rmdir, symlink, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { z } from 'zod';
import { amount, amountOf, LeadstreamError, schema, SinkError } from '../core/index.js';
import { attempt, errnoOf, unlessMissing } from './failure.js';
import { refuseLinks, sha256File, syncFolder } from './files.js';
import { runsFolderOf } from './paths.js';

/**
 * One step of a commit, as JSON: sinks create actions, the redo log stores them, `prepareCommit` carries them out. A new one needs a new version of the redo log.
 *
 * @example
 * { action: 'rename', from: '/lake/.leads.csv.RUN.partial', to: '/lake/leads.csv', file: { bytes: 3, sha256: '11507a…' } }
 * { action: 'link', at: '/lake/leads', to: '.leads.runs/RUN', draft: '/lake/.leads.runs/RUN.link' }
 */
export interface Action {
  readonly action: string;
}

/** Renames an existing file or folder, replacing a file at `to` in one step. Absolute paths. */
export const renameAction = schema((z) => {
  /** What `from` must contain; without SHA-256 for a file of an earlier run, since an append would read the whole table. */
  const file = z.strictObject({ bytes: z.int().nonnegative(), sha256: z.string().exactOptional() });
  return z.strictObject({ action: z.literal('rename'), from: z.string(), to: z.string(), file: file.exactOptional() });
});

export type RenameAction = z.output<ReturnType<typeof renameAction>>;

/**
 * Puts a link to `to`, relative to its folder, in place of another link, an empty folder, or nothing, in one step. `draft` is the same link under a name that
 * readers ignore. `at` and `draft` are absolute paths.
 */
const linkAction = schema((z) => z.strictObject({ action: z.literal('link'), at: z.string(), to: z.string(), draft: z.string() }));

export type LinkAction = z.output<ReturnType<typeof linkAction>>;

export interface Commit {
  /** The only outputs that the actions may change. Absolute paths. */
  readonly outputs: readonly string[];
  /** Carried out in this order: data first, what makes it visible to readers last. */
  readonly actions: readonly Action[];
}

/** A commit whose actions can all be carried out: every file contains what was written to it. Nothing has been changed yet. */
export interface PreparedCommit {
  /**
   * Carries out the actions in order, and makes them durable. Those that an interrupted commit carried out change nothing.
   *
   * @throws {SinkError} `E_SINK_WRITE`; `E_SINK_VERIFY` if a file has changed since it was checked, `E_SINK_FOREIGN` if something was put where a link belongs.
   */
  commit(): Promise<void>;
}

/** An action parsed. Parsing does not access the disk. */
export interface KnownAction {
  /** For a message: `rename A to B`. */
  readonly words: string;
  /** Where readers find its result. */
  readonly destination: string;
  /** The folders whose entries it changes. */
  readonly folders: readonly string[];
  /** Returns whether the action may change an output. */
  belongsTo(output: string): boolean;
  /** Checks that it can be carried out, or already was. @throws As `prepareCommit`, or the system's error. */
  prepare(): Promise<PreparedAction>;
}

interface PreparedAction {
  /** The folder of its source, if that exists. */
  readonly source: string | undefined;
  /** Carries out the action; does nothing if it already was. */
  commit(): Promise<void>;
}

/** Parses an action from a sink or from the redo log; returns `undefined` if it is damaged or unknown. */
export function actionIn(value: unknown): KnownAction | undefined {
  const renaming = renameAction().safeParse(value).data;
  if (renaming) return renamingOf(renaming);
  const linking = linkAction().safeParse(value).data;
  return linking && linkingOf(linking);
}

/** Returns the output that an action changes; `undefined` if it changes none of them. */
export function outputOf(outputs: readonly string[], action: KnownAction): string | undefined {
  return outputs.find((output) => action.belongsTo(output));
}

/**
 * Checks that all actions of a commit can be carried out or were, reading every file that has a SHA-256, and makes their sources durable.
 *
 * @throws {SinkError} `E_SINK_VERIFY` if a file differs from what was written, `E_SINK_WRITE` if it is missing, `E_SINK_FOREIGN` for what is not leadstream's.
 * @throws {LeadstreamError} `E_RUN_FAILED` for an unknown action, and for one that is for none of the outputs.
 */
export async function prepareCommit({ outputs, actions }: Commit): Promise<PreparedCommit> {
  const known = actions.map((given) => confined(outputs, given));
  for (const { output, action } of known) for (const folder of action.folders) await refuseLinks(dirname(output), folder);
  const planned: { readonly action: KnownAction; readonly prepared: PreparedAction }[] = [];
  for (const { action } of known)
    planned.push({ action, prepared: await attempt('E_SINK_WRITE', `cannot commit ${action.destination}`, () => action.prepare()) });
  // The redo log may be on another disk: it must not become durable before the sources do.
  for (const folder of new Set(planned.flatMap(({ prepared }) => prepared.source ?? [])))
    await attempt('E_SINK_WRITE', `cannot make ${folder} durable`, () => syncFolder(folder));
  return {
    async commit() {
      for (const { action, prepared } of planned)
        await attempt('E_SINK_WRITE', `cannot commit ${action.destination}`, () => prepared.commit());
      for (const folder of new Set(planned.flatMap(({ action }) => action.folders)))
        await attempt('E_SINK_WRITE', `cannot commit in ${folder}`, () => syncFolder(folder));
    },
  };
}

function confined(outputs: readonly string[], given: Action): { readonly output: string; readonly action: KnownAction } {
  const action = actionIn(given);
  if (action === undefined) throw new LeadstreamError('E_RUN_FAILED', `a commit has the action ${given.action}, which is unknown`);
  const output = outputOf(outputs, action);
  if (output !== undefined) return { output, action };
  throw new LeadstreamError('E_RUN_FAILED', `a commit would ${action.words}, which is not an action on one of its outputs`);
}

/** Carries out a commit without a redo log: if it is interrupted, nothing completes it. */
export async function commitUnlogged(commit: Commit): Promise<void> {
  const prepared = await prepareCommit(commit);
  await prepared.commit();
}

/** Renames a partial file next to an output to the output, or something below the runs of a table to another name there. */
function renamingOf(data: RenameAction): KnownAction {
  const { from, to, file } = data;
  return {
    words: `rename ${from} to ${to}`,
    destination: to,
    folders: [dirname(from), dirname(to)],
    // A file that becomes an output must have a SHA-256.
    belongsTo(output) {
      const runs = runsFolderOf(output);
      if (isWithin(from, runs)) return isWithin(to, runs);
      return to === output && file?.sha256 !== undefined && isPartialOf(from, output);
    },
    // If `from` is gone, the rename counts as done when `to` has the expected content.
    async prepare() {
      const found = await lstat(from).catch(unlessMissing(undefined));
      if (found !== undefined) {
        await refuseOccupied(to);
        const fault = file && (await faultOf(from, found, file));
        if (fault !== undefined) throw new SinkError('E_SINK_VERIFY', `cannot commit ${to}: ${from} ${fault}`);
        return { source: dirname(from), commit: () => renamed(data, found) };
      }
      const arrived = await lstat(to).catch(unlessMissing(undefined));
      if (arrived === undefined) throw new SinkError('E_SINK_WRITE', `cannot commit ${to}: ENOENT: neither it nor ${from} exists`);
      const fault = file && (await faultOf(to, arrived, file));
      if (fault !== undefined) throw new SinkError('E_SINK_VERIFY', `cannot commit ${to}: ${from} is gone, and the existing file ${fault}`);
      return { source: undefined, commit: () => Promise.resolve() };
    },
  };
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

/** Refuses anything but a regular file, a folder or nothing. The rename fails for a folder that is not empty. */
async function refuseOccupied(to: string): Promise<void> {
  const found = await lstat(to).catch(unlessMissing(undefined));
  if (found === undefined || found.isFile() || found.isDirectory()) return;
  throw new SinkError('E_SINK_FOREIGN', `cannot commit ${to}: what exists there is not a file that can be replaced; move it away`);
}

async function faultOf(path: string, found: Stats, { bytes, sha256 }: NonNullable<RenameAction['file']>): Promise<string | undefined> {
  if (!found.isFile()) return 'is not a regular file';
  if (found.size !== bytes) return `has ${amountOf(found.size, 'byte')}, but ${amount(bytes)} were written`;
  if (sha256 === undefined || (await sha256File(path)) === sha256) return undefined;
  return 'has bytes that differ from those written';
}

/** Turns a link below the runs of a table, to the folder of a run there, into the table. */
function linkingOf(data: LinkAction): KnownAction {
  const { at, to, draft } = data;
  return {
    words: `link ${at} to ${to}`,
    destination: at,
    folders: [dirname(draft), dirname(at)],
    belongsTo(output) {
      const runs = runsFolderOf(output);
      return at === output && isWithin(draft, runs) && dirname(to) === basename(runs) && /^[\w-]+$/.test(basename(to));
    },
    async prepare() {
      await placeOf(data);
      const found = await lstat(draft).catch(unlessMissing(undefined));
      if (found !== undefined && !(await isLinkTo(draft, to)))
        throw new SinkError('E_SINK_VERIFY', `cannot commit ${at}: ${draft} is not the link to ${to}`);
      return { source: found && dirname(draft), commit: () => put(data, found) };
    },
  };
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

/** What is at the link's place: another link of the same table, an empty folder, or nothing. */
async function placeOf({ at, to }: LinkAction): Promise<'link' | 'folder' | 'free'> {
  const found = await lstat(at).catch(unlessMissing(undefined));
  if (found === undefined) return 'free';
  if (found.isSymbolicLink() && dirname(await readlink(at)) === dirname(to)) return 'link';
  if (found.isDirectory() && (await readdir(at)).length === 0) return 'folder';
  throw notOurs(at);
}

function notOurs(path: string): SinkError {
  return new SinkError(
    'E_SINK_FOREIGN',
    `${path} was not made by leadstream; move it away, so that the link of the table can take its place`,
  );
}

async function isLinkTo(path: string, target: string): Promise<boolean> {
  return (await readlink(path).catch(() => undefined)) === target;
}

/** Reading gigabytes may have taken minutes since the check. */
async function refuseChanged(before: Stats, path: string, destination: string): Promise<void> {
  const now = await lstat(path);
  if (before.dev === now.dev && before.ino === now.ino && before.size === now.size && before.mtimeMs === now.mtimeMs) return;
  throw new SinkError('E_SINK_VERIFY', `cannot commit ${destination}: ${path} has changed since it was checked`);
}

/** Whether a path lies below a folder, judging by its normalized text alone. */
function isWithin(path: string, folder: string): boolean {
  return resolve(path) === path && path.startsWith(folder + sep);
}

/** Whether a path is that of a partial file next to an output, `.<name>.<run>.partial`. */
function isPartialOf(path: string, output: string): boolean {
  const head = join(dirname(output), `.${basename(output)}.`);
  return path.startsWith(head) && /^[\w-]+\.partial$/.test(path.slice(head.length));
}
