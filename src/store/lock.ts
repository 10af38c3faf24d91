import { open, readdir, rename, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { LeadstreamError, SinkError } from '../core/index.js';
import { attempt, isLocked, undoing, unlessMissing } from './failure.js';
import { closing, jsonIn, linked, randomId, removeFile, makeFolders, removeFolders } from './files.js';
import { type HeldLock, lockObject, type ObjectLockOptions } from './object-lock.js';
import { openRegular } from './own.js';
import { lives, lockedBy, owner, silenceMs, thisProcess, type Owner } from './owner.js';
import { isRemote } from './paths.js';

/** A run's exclusive right to its outputs. */
export interface RunLock {
  /** @throws {LeadstreamError} `E_RUN_LOCKED` if this run was frozen for over a minute, and lost an output to a run on another host. */
  check(): Promise<void>;
  /** Also removes what was created for the locks. Never rejects; may be called twice. */
  release(): Promise<void>;
}

/**
 * Lets only one run at a time write each output, by a file or object `.<name>.lock` next to it. It does not wait, but see `lockObject`.
 *
 * On the same host, a lock is taken over at once if its process is dead, and never while it lives; otherwise if its last heartbeat is older
 * than a minute, so the clocks of hosts that share outputs must agree to within less than that.
 *
 * @param outputs Absolute paths, on this machine or a store. Missing folders above them are created.
 * @throws {LeadstreamError} `E_RUN_LOCKED` naming output, run, host, process and time.
 * @throws {SinkError} `E_SINK_PATH` if a lock cannot be written; `E_SINK_FOREIGN` if a file of that name is not ours.
 */
export function lockOutputs(outputs: readonly string[], options: ObjectLockOptions): Promise<RunLock> {
  return lockEach(outputs, options, 0o666);
}

/** Locks something in the state folder, by a lock file that only its user can read. */
export function lockOwn(path: string, options: ObjectLockOptions): Promise<RunLock> {
  return lockEach([path], options, 0o600);
}

/** Locks in the order of the paths, so that two runs cannot wait for each other. */
async function lockEach(paths: readonly string[], options: ObjectLockOptions, mode: number): Promise<RunLock> {
  const { runId, heartbeatMs = 15_000 } = options;
  const mine = await thisProcess(runId);
  const locks: HeldLock[] = [];
  const beats = setInterval(() => void Promise.all(locks.map((lock) => lock.beat())), heartbeatMs).unref();

  async function release(): Promise<void> {
    clearInterval(beats);
    for (const lock of locks.splice(0).toReversed()) await lock.release();
  }

  try {
    for (const path of [...new Set(paths)].sort())
      locks.push(await (isRemote(path) ? lockObject(path, mine, options) : take(path, mine, mode)));
  } catch (failure) {
    await release();
    throw failure;
  }
  return {
    check: async () => {
      for (const { output, holder } of locks) {
        const found = await holder();
        if (!found) throw new LeadstreamError('E_RUN_LOCKED', `the lock of ${output} was removed or overwritten while this run held it`);
        if (found.id !== mine.id) throw lockedBy(output, found);
      }
    },
    release,
  };
}

/** Works on a file of the state folder that other runs change, too. @throws {LeadstreamError} `E_RUN_LOCKED` after ten seconds. */
export async function inTurn<T>(path: string, runId: string, work: () => Promise<T>): Promise<T> {
  const lock = await lockSoon(path, runId, 10_000);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/** As `lockOwn`, for what others lock for a moment only. @throws {LeadstreamError} `E_RUN_LOCKED` after `patienceMs`. */
export async function lockSoon(path: string, runId: string, patienceMs: number): Promise<RunLock> {
  for (let leftMs = patienceMs; ; leftMs -= 20)
    try {
      return await lockOwn(path, { runId });
    } catch (failure) {
      if (leftMs <= 0 || !isLocked(failure)) throw failure;
      await wait(20);
    }
}

async function take(output: string, mine: Owner, mode: number): Promise<HeldLock> {
  const path = join(dirname(output), `.${basename(output)}.lock`);
  const folders = await makeFolders(dirname(output));
  const handle = await attempt('E_SINK_PATH', `cannot lock ${output}`, async () => {
    const draft = asideOf(path, randomId());
    try {
      await writeFile(draft, `${JSON.stringify(mine)}\n`, { flag: 'wx', mode, flush: true });
      await acquire(path, draft, output);
    } finally {
      await removeFile(draft);
    }
    await removeLeftovers(path);
    return open(path);
  }).catch(undoing(() => removeFolders(folders)));

  async function remove(): Promise<void> {
    const right = asideOf(path, mine.id);
    if (!(await linked(path, right))) return;
    if ((await readLock(path))?.owner?.id === mine.id) await unlink(path);
    await removeFile(right);
  }

  return {
    output,
    holder: async () => (await attempt('E_SINK_WRITE', `cannot read ${path}`, () => readLock(path)))?.owner,

    /** Touches the opened file, not the path, so that it never prolongs another run's lock. */
    async beat(): Promise<void> {
      const now = new Date();
      await handle.utimes(now, now).catch(() => undefined);
    },

    async release(): Promise<void> {
      await handle.close().catch(() => undefined);
      await remove().catch(() => undefined);
      await removeFolders(folders);
    },
  };
}

/**
 * Renames the complete file `draft` to `path`, and replaces a dead owner's lock. If several processes try, one wins:
 *
 * - `link` takes a free lock; it fails if a file exists. The linked file is complete, so no one reads a partial one.
 * - Whoever removes or replaces the lock with id X, including its owner, first takes the lock `.<name>.lock-X.lock` in the same way, and checks again that X
 *   is there. Ids are never reused, so X cannot come back: a slow process that judged X dead finds another id and touches nothing.
 * - A process that dies on the way leaves such a lock behind, which is taken over in the same way.
 *
 * Files that are not our locks stay, however old: a name like `.yarn.lock` may belong to another program.
 */
async function acquire(path: string, draft: string, output: string): Promise<void> {
  while (!(await linked(draft, path))) {
    const found = await readLock(path);
    if (found === undefined) continue;
    if (found.isHeld) throw lockedBy(output, found.owner);
    const id = found.owner?.id;
    if (id === undefined) {
      const fault = `${path} exists, but is not a lock made by leadstream; remove it if nothing else needs it`;
      throw new SinkError('E_SINK_FOREIGN', `${output} cannot be locked: ${fault}`);
    }
    const right = asideOf(path, id);
    await acquire(right, draft, output);
    try {
      if ((await readLock(path))?.owner?.id === id) return await rename(right, path);
    } finally {
      // After the rename, the name is free; a process that took it since will find the dead lock gone.
      await removeFile(right);
    }
  }
}

/** Reads a lock file; returns `undefined` if there is none. @throws If it is not a regular file. */
async function readLock(path: string) {
  const file = await openRegular(path).catch(unlessMissing(undefined));
  if (file === undefined) return undefined;
  return closing(file, async () => {
    const { mtimeMs } = await file.stat();
    const text = await file.readFile('utf8');
    // Not ours, or not yet: without links, a lock is visible before it is complete.
    const { data: found } = owner().safeParse(jsonIn(text));
    // A living owner keeps its lock however long it is silent; one that cannot be checked, while it sends heartbeats.
    const isHeld = (found && (await lives(found))) ?? Math.abs(Date.now() - mtimeMs) <= silenceMs;
    return { owner: found, isEmpty: text === '', isHeld };
  });
}

/** Removes what killed processes left: our locks, and empty files with the names of drafts. */
async function removeLeftovers(path: string): Promise<void> {
  const head = basename(path);
  const folder = dirname(path);
  for (const name of await readdir(folder).catch(() => [])) {
    const file = join(folder, name);
    if (!name.startsWith(head) || !asideName.test(name.slice(head.length))) continue;
    const found = await readLock(file).catch(() => undefined);
    if (found && (found.isEmpty || found.owner) && !found.isHeld) await removeFile(file).catch(() => undefined);
  }
}

/** What follows the lock's name in the names of such files. */
const asideName = /^(?:-[0-9a-f]{16}\.lock)+$/;

/** The path of a lock on a lock, or of a lock before it has its final name. */
function asideOf(path: string, id: string): string {
  return path.replace(/\.lock$/, `.lock-${id}.lock`);
}
