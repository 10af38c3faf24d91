import { readdir, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LeadstreamError, SinkError } from '../core/index.js';
import { errnoOf } from './failure.js';
import { owner, lives, type Owner } from './owner.js';
import { linked } from './linked.js';
import { openRegular } from './regular.js';
import { removeFile } from './remove-file.js';

/** A owner that cannot be asked is taken for dead when its last sign of life is older than this, or further ahead: no clock that agrees gave that. */
const silenceMs = 60_000;

/** Bytes of the longest lock file that is read; one of ours has some hundred. */
const longest = 65_536;

/** What a lock file says. */
export interface Found {
  readonly id: string | undefined;
  /** `undefined` for a file that is none of ours, or not yet: where there are no links, a lock is there before it is whole. */
  readonly owner: Owner | undefined;
  /** Whether nothing is in it. */
  readonly empty: boolean;
  readonly silentMs: number;
}

/**
 * Gives the complete file `draft` the name `path`, and that of a dead owner if need be. Of several takers one wins:
 *
 * - A free lock is taken by `link`, which fails when there is a file. The file linked is complete, so nobody reads half of it.
 * - Whoever removes or replaces the lock with id X, its own owner included, first takes the lock `.<name>.lock-X.lock`,
 *   in the same way, and looks again whether X is still there. Identities are never used twice, so X cannot come back:
 *   a taker that judged X dead and was slow finds another id and touches nothing.
 * - A taker that dies on the way leaves such a lock behind, and its own is taken over in the same way.
 *
 * What is no lock of ours stays, however old it is: a name like `.yarn.lock` may be that of another program.
 *
 * @throws {LeadstreamError} `E_RUN_LOCKED` when a living run holds it, or is about to take it over.
 * @throws {SinkError} `E_SINK_FOREIGN` for a file that is no lock of ours.
 */
export async function acquire(path: string, draft: string, output: string): Promise<void> {
  while (!(await linked(draft, path))) {
    const found = await readLock(path);
    if (found === undefined) continue;
    if (await isHeld(found)) throw lockedBy(output, found);
    if (found.id === undefined) throw noLock(path, output);
    const right = beside(path, found.id);
    await acquire(right, draft, output);
    try {
      if ((await readLock(path))?.id === found.id) return await rename(right, path);
    } finally {
      // After the rename the name is free; whoever took it since will find the dead lock gone.
      await removeFile(right);
    }
  }
}

/** A owner that lives keeps its lock however silent it is; one that cannot be asked, as long as it gives signs of life. */
async function isHeld(found: Found): Promise<boolean> {
  return (found.owner && (await lives(found.owner))) ?? Math.abs(found.silentMs) <= silenceMs;
}

/** `undefined` when there is no such file. @throws For what is no regular file. */
export async function readLock(path: string): Promise<Found | undefined> {
  try {
    const file = await openRegular(path);
    try {
      const { mtimeMs } = await file.stat();
      const head = Buffer.alloc(longest);
      const { bytesRead } = await file.read(head, 0, longest, 0);
      const found = parse(head.toString('utf8', 0, bytesRead));
      return { id: found?.id, owner: found, empty: bytesRead === 0, silentMs: Date.now() - mtimeMs };
    } finally {
      await file.close();
    }
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

function parse(text: string): Owner | undefined {
  try {
    return owner().safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The error that names the owner. */
export function lockedBy(output: string, { owner: other }: Found): LeadstreamError {
  const who = other ? `run ${other.run} (host ${other.host}, process ${other.pid}) since ${other.since}` : 'an unknown run';
  return new LeadstreamError('E_RUN_LOCKED', `${output} is held by ${who}`);
}

function noLock(path: string, output: string): SinkError {
  const remedy = `look what it is, and remove it if nothing else needs it`;
  return new SinkError('E_SINK_FOREIGN', `${output} cannot be locked: ${path} is there, and no lock that leadstream made; ${remedy}`);
}

/**
 * Removes what takers left that were killed half-way: locks of ours, and files with the names of drafts that nothing was written to.
 * Whoever still works with such a file is alive.
 */
export async function removeLeftovers(path: string): Promise<void> {
  const head = basename(path);
  const folder = dirname(path);
  for (const name of await readdir(folder).catch(() => [])) {
    const file = join(folder, name);
    if (!name.startsWith(head) || !asideName.test(name.slice(head.length))) continue;
    const found = await readLock(file).catch(() => undefined);
    if (found && (found.empty || found.owner !== undefined) && !(await isHeld(found))) await removeFile(file).catch(() => undefined);
  }
}

/** What the names of such files have behind that of the lock. */
const asideName = /^(?:-[0-9a-f]{16}\.lock)+$/;

/** A lock about a lock, or a lock before it has its name. */
export function beside(path: string, id: string): string {
  return path.replace(/\.lock$/, `.lock-${id}.lock`);
}
