import { createHash } from 'node:crypto';
import { open, rename, type FileHandle } from 'node:fs/promises';
import { SinkError } from '../../core/index.js';
import { attempt } from '../failure.js';
import { removeFolders } from '../folders.js';
import type { OutputFile } from '../store.js';
import { removeFile } from '../remove-file.js';
import type { FileContent, RenameAction } from './rename-action.js';

/**
 * A file that is being written under a name that readers ignore. It gets its final name by `action`, once it is closed.
 *
 * Nothing is buffered: `append` resolves when the system has taken the bytes. After a failure every further call fails
 * with it, so that a file with a hole is never closed.
 */
export class PartialFile implements OutputFile {
  readonly #hash = createHash('sha256');
  #bytes = 0;
  #content: FileContent | undefined;
  #failure: unknown;
  #closed = false;

  private constructor(
    private readonly handle: FileHandle,
    /** Where the bytes are now. */
    readonly path: string,
    /** Where they will be after the commit. */
    readonly destination: string,
    private readonly folders: readonly string[],
  ) {}

  /**
   * @param folders Folders that were made for this file, outermost first; `discard` removes those that are empty.
   * @param mode Permissions of the file, whatever the umask is.
   * @throws {SinkError} `E_SINK_PATH`, also when there is a file of that name.
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

  /** What was written to the file, once it is closed. */
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
    // Before the bytes are given away: those of an encoder may be gone afterwards.
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

  /** Closes and removes the file, and the folders made for it as far as they are empty. Never rejects. */
  async discard(): Promise<void> {
    this.#failure ??= new SinkError('E_SINK_WRITE', `${this.path} was discarded`);
    if (!this.#closed) await this.handle.close().catch(() => undefined);
    this.#closed = true;
    await removeFile(this.path).catch(() => undefined);
    await removeFolders(this.folders);
  }

  /**
   * Instead of a commit: gives the closed file the name `<destination>.<label>`, so that a person can look at it.
   *
   * @returns Where it is now.
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
