import { createHash } from 'node:crypto';
import { lstat, open, readdir, readlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SinkError } from '../core/index.js';
import { attempt, undoing, unlessMissing } from './failure.js';
import { makeFolders, orClose, removeFile, removeFolders, setMode } from './files.js';
import type { RenameAction } from './commit.js';
import type { FileContent } from './objects.js';

/**
 * A file written under a name that readers ignore; after `close`, `action` gives it its final name. Nothing is buffered: `append` resolves
 * when the system has the bytes. After a failure, all further calls fail with it, `E_SINK_WRITE`, so that an incomplete file is never
 * closed.
 */
export class PartialFile {
  readonly #hash = createHash('sha256');
  #bytes = 0;
  #content: FileContent | undefined;
  #failure: unknown;
  #closed = false;

  private constructor(
    private readonly handle: FileHandle,
    readonly path: string,
    private readonly destination: string,
    private readonly folders: readonly string[],
  ) {}

  /**
   * @param folders Folders created for this file, outermost first; `discard` removes those that are empty.
   * @param mode Permissions, regardless of the umask.
   * @throws {SinkError} `E_SINK_PATH`, also if a file of that name exists.
   */
  static async open(path: string, destination: string, folders: readonly string[] = [], mode = 0o600): Promise<PartialFile> {
    const handle = await attempt('E_SINK_PATH', `cannot write ${path}`, () => open(path, 'wx', 0o600));
    await attempt('E_SINK_PATH', `cannot set the permissions of ${path}`, () => orClose(handle, () => setMode(handle, mode)));
    return new PartialFile(handle, path, destination, folders);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get content(): FileContent {
    if (this.#content === undefined) throw new SinkError('E_SINK_WRITE', `${this.path} is not closed yet`);
    return this.#content;
  }

  get action(): RenameAction {
    return { action: 'rename', from: this.path, to: this.destination, file: this.content };
  }

  get actions(): readonly RenameAction[] {
    return [this.action];
  }

  /** Appends bytes, or text as UTF-8. One call at a time. */
  async append(data: string | Uint8Array): Promise<void> {
    // Before the bytes are handed over: an encoder may reuse its buffer afterwards.
    if (!this.#closed) this.#hash.update(data);
    await this.#guard(() => this.handle.appendFile(data));
    this.#bytes += Buffer.byteLength(data);
  }

  async close(): Promise<void> {
    await this.#guard(() => this.handle.sync());
    await this.#guard(() => this.handle.close());
    this.#closed = true;
    this.#content = { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  /** Removes the file, and folders created for it that are empty. Never rejects. */
  async discard(): Promise<void> {
    this.#failure ??= new SinkError('E_SINK_WRITE', `${this.path} was discarded`);
    if (!this.#closed) await this.handle.close().catch(() => undefined);
    this.#closed = true;
    await removeFile(this.path).catch(() => undefined);
    await removeFolders(this.folders);
  }

  async #guard(work: () => Promise<unknown>): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      await attempt('E_SINK_WRITE', `cannot write ${this.path}`, work);
    } catch (failure) {
      this.#failure = failure;
      throw failure;
    }
  }
}

/**
 * Reserves an output: creates the folders above it, and an empty file `.<name>.<runId>.partial` next to it. Removes what killed runs left
 * for the destination, so the caller must hold its lock.
 * @param destination An existing file stays unchanged until the commit.
 * @throws {SinkError} `E_SINK_PATH` if the destination is not writable, or not a file.
 */
export async function reserveFile(destination: string, runId: string, mode?: number): Promise<PartialFile> {
  await refuseNoFile(destination);
  const folder = dirname(destination);
  const made = await makeFolders(folder);
  const path = join(folder, `.${basename(destination)}.${runId}.partial`);
  const opened = removeLeftovers(folder, basename(destination)).then(() => PartialFile.open(path, destination, made, mode));
  return opened.catch(undoing(() => removeFolders(made)));
}

/** A rename would replace a pipe, a device or a link, whose target would stay unchanged. */
async function refuseNoFile(destination: string): Promise<void> {
  const found = await attempt('E_SINK_PATH', `cannot write ${destination}`, () => lstat(destination).catch(unlessMissing(undefined)));
  if (found === undefined || found.isFile()) return;
  if (found.isSymbolicLink()) {
    const target = await readlink(destination).catch(() => 'elsewhere');
    throw new SinkError('E_SINK_PATH', `cannot write ${destination}: it is a link to ${target}; name that file, or remove the link`);
  }
  throw new SinkError('E_SINK_PATH', `cannot write ${destination}: it is ${found.isDirectory() ? 'a folder' : 'not a regular file'}`);
}

/** Run ids, as pipelines (with `Z`) and sinks in code create them. In a user's file, any other word may be in this place. */
const runIdForm = /^\d{8}T\d{9}Z?-[0-9a-f]{8}$/;

async function removeLeftovers(folder: string, name: string): Promise<void> {
  const [head, tail] = [`.${name}.`, '.partial'];
  await attempt('E_SINK_PATH', `cannot write in ${folder}`, async () => {
    for (const entry of await readdir(folder)) {
      const run = entry.startsWith(head) && entry.endsWith(tail) ? entry.slice(head.length, -tail.length) : '';
      if (runIdForm.test(run)) await removeFile(join(folder, entry));
    }
  });
}
