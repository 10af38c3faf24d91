import { readdir, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LeadstreamError, SinkError } from '../core/index.js';
import { errnoOf } from './failure.js';
import { owner, lives, type Owner } from './owner.js';
import { linked } from './linked.js';
import { openRegular } from './regular.js';
import { removeFile } from './remove-file.js';

/** An owner that cannot be checked is considered dead if its last heartbeat is older than this, or further in the future: then the clocks disagree. */
const silenceMs = 60_000;

/** Maximum number of bytes read from a lock file; ours have a few hundred. */
const longest = 65_536;

/** The content of a lock file. */
export interface Found {
  readonly id: string | undefined;
  /** `undefined` for a file that is not ours, or not yet: without links, a lock is visible before it is complete. */
  readonly owner: Owner | undefined;
  /** Whether the file is empty. */
  readonly empty: boolean;
  readonly silentMs: number;
}

/**
 * Renames the complete file `draft` to `path`, replacing the lock of a dead owner if necessary. If several processes try, one wins:
 *
 * - A free lock is taken by `link`, which fails if a file exists. The linked file is complete, so no one reads a partial one.
 * - Any process that removes or replaces the lock with id X, including its owner, first takes the lock `.<name>.lock-X.lock` in the same way, and re-checks
 *   that X is still there. Ids are never reused, so X cannot come back: a slow process that judged X dead finds another id and touches nothing.
 * - A process that dies on the way leaves such a lock behind, which is taken over in the same way.
 *
 * Files that are not our locks stay, however old they are: a name like `.yarn.lock` may belong to another program.
 *
 * @throws {LeadstreamError} `E_RUN_LOCKED` if a living run holds it, or is about to take it over.
 * @throws {SinkError} `E_SINK_FOREIGN` for a file that is not one of our locks.
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
      // After the rename the name is free; any process that has taken it since will find the dead lock gone.
      await removeFile(right);
    }
  }
}

/** A living owner keeps its lock however long it is silent; one that cannot be checked, as long as it sends heartbeats. */
async function isHeld(found: Found): Promise<boolean> {
  return (found.owner && (await lives(found.owner))) ?? Math.abs(found.silentMs) <= silenceMs;
}

/** Reads a lock file; returns `undefined` if there is none. @throws If it is not a regular file. */
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

/** Creates the error that names the owner. */
export function lockedBy(output: string, { owner: other }: Found): LeadstreamError {
  const who = other ? `run ${other.run} (host ${other.host}, process ${other.pid}) since ${other.since}` : 'an unknown run';
  return new LeadstreamError('E_RUN_LOCKED', `${output} is held by ${who}`);
}

function noLock(path: string, output: string): SinkError {
  const remedy = `check what it is, and remove it if nothing else needs it`;
  return new SinkError('E_SINK_FOREIGN', `${output} cannot be locked: ${path} exists, but is not a lock made by leadstream; ${remedy}`);
}

/** Removes what killed processes left behind: our locks, and empty files with the names of drafts. Files that are still in use have a living owner and stay. */
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

/** What follows the name of the lock in the names of such files. */
const asideName = /^(?:-[0-9a-f]{16}\.lock)+$/;

/** Returns the path of a lock on a lock, or of a lock before it has its final name. */
export function beside(path: string, id: string): string {
  return path.replace(/\.lock$/, `.lock-${id}.lock`);
}
