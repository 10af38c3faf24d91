import { createHash } from 'node:crypto';
import { open, rename, type FileHandle } from 'node:fs/promises';
import { SinkError } from '../../core/index.js';
import { attempt } from '../failure.js';
import { removeFolders } from '../folders.js';
import type { OutputFile } from '../store.js';
import { removeFile } from '../remove-file.js';
import type { FileContent, RenameAction } from './rename-action.js';

/**
 * A file written under a name that readers ignore. Once it is closed, `action` gives it its final name.
 *
 * Nothing is buffered: `append` resolves when the system has accepted the bytes. After a failure every further
 * call fails with it, so that an incomplete file is never closed.
 */
export class PartialFile implements OutputFile {
  readonly #hash = createHash('sha256');
  #bytes = 0;
  #content: FileContent | undefined;
  #failure: unknown;
  #closed = false;

  private constructor(
    private readonly handle: FileHandle,
    /** The current path of the file. */
    readonly path: string,
    /** Its path after the commit. */
    readonly destination: string,
    private readonly folders: readonly string[],
  ) {}

  /**
   * Creates and opens the file.
   *
   * @param folders Folders that were created for this file, outermost first; `discard` removes those that are empty.
   * @param mode Permissions of the file, regardless of the umask.
   * @throws {SinkError} `E_SINK_PATH`, also if a file of that name exists.
   */
  static async open(path: string, destination: string, folders: readonly string[] = [], mode = 0o600): Promise<PartialFile> {
    const handle = await attempt('E_SINK_PATH', `cannot write ${path}`, () => open(path, 'wx', 0o600));
    if (mode !== 0o600) await attempt('E_SINK_PATH', `cannot set the permissions of ${path}`, () => handle.chmod(mode));
    return new PartialFile(handle, path, destination, folders);
  }

  /** Bytes written so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Size and digest of the file, once it is closed. */
  get content(): FileContent {
    if (this.#content === undefined) throw new SinkError('E_SINK_WRITE', `${this.path} is not closed yet`);
    return this.#content;
  }

  /** The rename that commits the file, once it is closed. */
  get action(): RenameAction {
    return { action: 'rename', from: this.path, to: this.destination, file: this.content };
  }

  /**
   * Appends bytes, or text as UTF-8. One call at a time.
   *
   * @throws {SinkError} `E_SINK_WRITE`.
   */
  async append(data: string | Uint8Array): Promise<void> {
    // Before handing the bytes over: an encoder may reuse its buffer afterwards.
    if (!this.#closed) this.#hash.update(data);
    await this.#guard(() => this.handle.appendFile(data));
    this.#bytes += Buffer.byteLength(data);
  }

  /**
   * Makes the contents durable and closes the file.
   *
   * @throws {SinkError} `E_SINK_WRITE`.
   */
  async close(): Promise<void> {
    await this.#guard(() => this.handle.sync());
    await this.#guard(() => this.handle.close());
    this.#closed = true;
    this.#content = { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  /** Closes and removes the file, and the folders created for it if they are empty. Never rejects. */
  async discard(): Promise<void> {
    this.#failure ??= new SinkError('E_SINK_WRITE', `${this.path} was discarded`);
    if (!this.#closed) await this.handle.close().catch(() => undefined);
    this.#closed = true;
    await removeFile(this.path).catch(() => undefined);
    await removeFolders(this.folders);
  }

  /**
   * Renames the closed file to `<destination>.<label>` instead of committing it, so that someone can inspect it.
   *
   * @returns The new path.
   * @throws {SinkError} `E_SINK_WRITE`.
   */
  async quarantine(label: string): Promise<string> {
    const path = `${this.destination}.${label}`;
    await this.#guard(() => rename(this.path, path));
    return path;
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
