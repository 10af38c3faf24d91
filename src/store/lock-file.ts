import { randomBytes } from 'node:crypto';
import { open, unlink, writeFile, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LeadstreamError } from '../core/index.js';
import { attempt } from './failure.js';
import { makeFolders, removeFolders } from './folders.js';
import { thisProcess } from './owner.js';
import type { OutputLock } from './store.js';
import { linked } from './linked.js';
import { acquire, beside, lockedBy, readLock, removeLeftovers } from './takeover.js';
import { removeFile } from './remove-file.js';

/** The lock of one output, `.<name>.lock` next to it. `takeover.ts` describes how it changes hands. */
export class LockFile implements OutputLock {
  private constructor(
    readonly output: string,
    private readonly path: string,
    private readonly id: string,
    private readonly handle: FileHandle,
    private readonly folders: readonly string[],
  ) {}

  /**
   * Locks an output.
   *
   * @param output Absolute path of what is locked. Missing folders above it are created.
   * @param mode Permissions of the lock file.
   * @throws {LeadstreamError} `E_RUN_LOCKED` if a living run holds it, `E_SINK_PATH` if no lock can be
   * written, `E_SINK_FOREIGN` if something other than a lock is there.
   */
  static async take(output: string, run: string, mode: number): Promise<LockFile> {
    const path = join(dirname(output), `.${basename(output)}.lock`);
    const mine = await thisProcess(randomId(), run);
    const folders = await makeFolders(dirname(output));
    try {
      return await attempt('E_SINK_PATH', `cannot lock ${output}`, async () => {
        const draft = beside(path, randomId());
        try {
          await writeFile(draft, `${JSON.stringify(mine)}\n`, { flag: 'wx', mode, flush: true });
          await acquire(path, draft, output);
        } finally {
          await removeFile(draft);
        }
        await removeLeftovers(path);
        return new LockFile(output, path, mine.id, await open(path), folders);
      });
    } catch (failure) {
      await removeFolders(folders);
      throw failure;
    }
  }

  /** Touches the opened file rather than the path, so it never prolongs the lock of another run. */
  async beat(): Promise<void> {
    const now = new Date();
    await this.handle.utimes(now, now).catch(() => undefined);
  }

  async check(): Promise<void> {
    const found = await attempt('E_SINK_WRITE', `cannot read ${this.path}`, () => readLock(this.path));
    if (found === undefined) throw new LeadstreamError('E_RUN_LOCKED', `the lock of ${this.output} was removed while this run held it`);
    if (found.id !== this.id) throw lockedBy(this.output, found);
  }

  /** Also removes the folders created for it, if they are empty. */
  async release(): Promise<void> {
    await this.handle.close().catch(() => undefined);
    await this.#remove().catch(() => undefined);
    await removeFolders(this.folders);
  }

  async #remove(): Promise<void> {
    const right = beside(this.path, this.id);
    if (!(await linked(this.path, right))) return;
    if ((await readLock(this.path))?.id === this.id) await unlink(this.path);
    await removeFile(right);
  }
}

function randomId(): string {
  return randomBytes(8).toString('hex');
}
