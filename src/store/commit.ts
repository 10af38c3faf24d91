import { lstat, readdir, readlink, rename, rm, rmdir, symlink } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import { SinkError } from '../core/index.js';
import { sha256File } from './digest.js';
import { attempt, errnoOf, unlessMissing } from './failure.js';
import { syncFolder } from './folders.js';

/** What was written to a file. */
export interface FileContent {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** One rename of a publication. `to` is replaced in one step; for a table it is the link. Absolute paths. */
export interface Move {
  readonly from: string;
  readonly to: string;
  /** What the link at `from` points to, when it is one: there is something at `to` before and after, and this tells them apart. */
  readonly link?: string | undefined;
  /** What the file at `from` has to hold. One that an earlier run wrote has no SHA-256 here: all of a table would be read for every append. */
  readonly file?: Arriving | undefined;
}

type Arriving = Pick<FileContent, 'bytes'> & { readonly sha256?: string | undefined };

/**
 * The renames of a publication, all of which were found to be possible: every file holds what was written to it, or has arrived with
 * that. Nothing was renamed yet.
 */
export class Publication {
  private constructor(private readonly moves: readonly CheckedMove[]) {}

  /**
   * Checks the moves; reads every file that has a SHA-256.
   *
   * A link takes the place of a link to another folder beside its own, of an empty folder, or of nothing.
   *
   * A move whose `from` is gone was done before when `to` is what it has to be; a link that is gone without having arrived is made
   * again.
   *
   * @throws {SinkError} `E_SINK_VERIFY` when a file is not as it was written, `E_SINK_WRITE` when it is not there, `E_SINK_FOREIGN` when
   * something else stands where a link belongs.
   */
  static async of(moves: readonly Move[]): Promise<Publication> {
    const checked: CheckedMove[] = [];
    for (const move of moves)
      checked.push({ ...move, found: await attempt('E_SINK_WRITE', `cannot publish ${move.to}`, () => foundAt(move)) });
    return new Publication(checked);
  }

  /**
   * Does the renames in their order, and makes them durable. An empty folder at `to` gives way, since a rename does not replace one.
   *
   * @throws {SinkError} `E_SINK_WRITE`; `E_SINK_VERIFY` when a file has changed since it was checked, or `E_SINK_FOREIGN` when something
   * was put where a link belongs; the moves before the one named are done.
   */
  async carryOut(): Promise<void> {
    for (const move of this.moves) await attempt('E_SINK_WRITE', `cannot publish ${move.to}`, () => carryOut(move));
    const folders = new Set(this.moves.flatMap(({ from, to }) => [dirname(from), dirname(to)]));
    for (const folder of folders) {
      await attempt('E_SINK_WRITE', `cannot publish in ${folder}`, () => syncFolder(folder));
    }
  }
}

/** Checks the moves of a publication, and does them. It can be repeated after an interruption. */
export async function publish(moves: readonly Move[]): Promise<void> {
  const publication = await Publication.of(moves);
  await publication.carryOut();
}

interface CheckedMove extends Move {
  /** What stands at `from`; `undefined` when the move was done before, or the link has to be made again. */
  readonly found: Stats | undefined;
}

/** @returns What stands at `from`, which is what has to arrive; `undefined` when nothing has to be renamed. */
async function foundAt({ from, to, link, file }: Move): Promise<Stats | undefined> {
  if (link !== undefined) await placeFor(link, to);
  const found = await lstat(from).catch(unlessMissing(undefined));
  if (found !== undefined) {
    if (link !== undefined && !(await isLinkTo(from, link)))
      throw new SinkError('E_SINK_VERIFY', `cannot publish ${to}: ${from} is not the link to ${link}`);
    const fault = file && (await faultOf(from, found, file));
    if (fault !== undefined) throw new SinkError('E_SINK_VERIFY', `cannot publish ${to}: ${from} ${fault}`);
    return found;
  }
  if (link !== undefined) return undefined;
  const arrived = await lstat(to).catch(unlessMissing(undefined));
  if (arrived === undefined) throw new SinkError('E_SINK_WRITE', `cannot publish ${to}: ENOENT: neither it nor ${from} is there`);
  const fault = file && (await faultOf(to, arrived, file));
  if (fault !== undefined) throw new SinkError('E_SINK_VERIFY', `cannot publish ${to}: ${from} is gone, and what stands there ${fault}`);
  return undefined;
}

/** In what a file differs from what was written; `undefined` when in nothing. */
async function faultOf(path: string, found: Stats, { bytes, sha256 }: Arriving): Promise<string | undefined> {
  if (!found.isFile()) return 'is no regular file';
  if (found.size !== bytes) return `has ${found.size} bytes, ${bytes} were written`;
  if (sha256 === undefined || (await sha256File(path)) === sha256) return undefined;
  return 'has other bytes than were written';
}

async function carryOut({ from, to, link, found }: CheckedMove): Promise<void> {
  if (found !== undefined) {
    // The check may be some gigabytes ago.
    if (!isSame(found, await lstat(from)))
      throw new SinkError('E_SINK_VERIFY', `cannot publish ${to}: ${from} has changed since it was checked`);
    return link === undefined ? replace(from, to) : relink(link, from, to);
  }
  if (link === undefined || (await isLinkTo(to, link))) return;
  await symlink(link, from);
  await relink(link, from, to);
}

/** A rename replaces whatever it finds, so one is done only where a link of ours was found just before. */
async function relink(link: string, from: string, to: string): Promise<void> {
  const place = await placeFor(link, to);
  if (place === 'link') return rename(from, to);
  if (place === 'folder') await rmdir(to);
  await symlink(link, to).catch((thrown: unknown) => {
    throw errnoOf(thrown) === 'EEXIST' ? notOurs(to) : thrown;
  });
  await rm(from);
}

/** What a link finds where it belongs: another one like it, an empty folder, or nothing. */
async function placeFor(link: string, to: string): Promise<'link' | 'folder' | 'free'> {
  const found = await lstat(to).catch(unlessMissing(undefined));
  if (found === undefined) return 'free';
  if (found.isSymbolicLink() && dirname(await readlink(to)) === dirname(link)) return 'link';
  if (found.isDirectory() && (await readdir(to)).length === 0) return 'folder';
  throw notOurs(to);
}

function notOurs(path: string): SinkError {
  const remedy = 'move it away, so that the link of the table can take its place';
  return new SinkError('E_SINK_FOREIGN', `${path} is nothing that leadstream made; ${remedy}`);
}

function isSame(before: Stats, now: Stats): boolean {
  return before.dev === now.dev && before.ino === now.ino && before.size === now.size && before.mtimeMs === now.mtimeMs;
}

async function isLinkTo(path: string, target: string): Promise<boolean> {
  return (await readlink(path).catch(() => undefined)) === target;
}

async function replace(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (thrown) {
    if (errnoOf(thrown) !== 'EISDIR') throw thrown;
    await rmdir(to);
    await rename(from, to);
  }
}
