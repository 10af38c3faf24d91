import { lstat, readdir, readlink, rename, rmdir, symlink, unlink } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { basename, dirname } from 'node:path';
import { SinkError } from '../../core/index.js';
import { errnoOf, unlessMissing } from '../failure.js';
import { isWithin, runsOf } from './confine.js';
import { linkAction, type LinkAction } from './link-action.js';
import type { LocalAction, PreparedAction } from './local-action.js';
import { refuseChanged } from './unchanged.js';

/** Turns a link below the runs of a table, to the folder of a run there, into the table. */
export class Link implements LocalAction {
  static readonly action = 'link';

  private constructor(private readonly data: LinkAction) {}

  /** Returns `undefined` for anything that is not a link action. */
  static in(value: unknown): Link | undefined {
    const { data } = linkAction().safeParse(value);
    return data && new Link(data);
  }

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

  prepare(): Promise<PreparedAction> {
    return PreparedLink.of(this.data);
  }
}

class PreparedLink implements PreparedAction {
  private constructor(
    private readonly action: LinkAction,
    /** What is at `draft`; `undefined` if the link is in place, or must be created again. */
    private readonly found: Stats | undefined,
  ) {}

  /** Prepares a link, which may replace a link to another folder of the same runs, an empty folder, or nothing. */
  static async of(action: LinkAction): Promise<PreparedLink> {
    const { at, to, draft } = action;
    await placeOf(action);
    const found = await lstat(draft).catch(unlessMissing(undefined));
    if (found !== undefined && !(await isLinkTo(draft, to)))
      throw new SinkError('E_SINK_VERIFY', `cannot commit ${at}: ${draft} is not the link to ${to}`);
    return new PreparedLink(action, found);
  }

  get source(): string | undefined {
    return this.found && dirname(this.action.draft);
  }

  /** Creates a draft again if it is gone but the link is not in place. */
  async commit(): Promise<void> {
    const { at, to, draft } = this.action;
    if (this.found !== undefined) await refuseChanged(this.found, draft, at);
    else if (await isLinkTo(at, to)) return;
    else await symlink(to, draft);
    await put(this.action);
  }
}

/** A rename replaces whatever it finds, so it is used only if one of our links was found there just before. */
async function put(action: LinkAction): Promise<void> {
  const { at, to, draft } = action;
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
