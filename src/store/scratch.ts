import { open, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivate } from './own.js';
import { temporaryName } from './temporary.js';

/** Where something is in a scratch file, in bytes. */
export interface Extent {
  readonly at: number;
  readonly length: number;
}

/**
 * A file for what does not fit into memory. Nobody else can open it, and it is gone with the process, however that ends: its name is
 * taken away as soon as it is open.
 */
export class ScratchFile {
  #end = 0;

  private constructor(private readonly handle: FileHandle) {}

  /**
   * @param folder Private folder for such files, made when it is missing.
   * @throws {LeadstreamError} `E_STATE_FOREIGN`.
   * @throws The system's error; the caller knows the words for it.
   */
  static async open(folder: string): Promise<ScratchFile> {
    await makePrivate(folder);
    const path = await temporaryName(join(folder, 'scratch'));
    const handle = await open(path, 'wx+', 0o600);
    try {
      await unlink(path);
    } catch (failure) {
      await handle.close();
      throw failure;
    }
    return new ScratchFile(handle);
  }

  /** Bytes so far. */
  get length(): number {
    return this.#end;
  }

  /** Puts bytes behind the others. One call at a time. */
  async append(bytes: Uint8Array): Promise<Extent> {
    const extent = { at: this.#end, length: bytes.length };
    for (let written = 0; written < bytes.length;) {
      const { bytesWritten } = await this.handle.write(bytes, written, bytes.length - written, extent.at + written);
      written += bytesWritten;
    }
    this.#end += bytes.length;
    return extent;
  }

  /** @throws {Error} When they are not there, which is a defect. */
  async read({ at, length }: Extent): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    for (let read = 0; read < length;) {
      const { bytesRead } = await this.handle.read(bytes, read, length - read, at + read);
      if (bytesRead === 0) throw new Error(`a scratch file ends before byte ${at + length}`);
      read += bytesRead;
    }
    return bytes;
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
