import { open, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryName } from './files.js';
import { makePrivate } from './own.js';

/** The position of something in a scratch file, in bytes. */
export interface Extent {
  readonly at: number;
  readonly length: number;
}

/**
 * A file for data that does not fit into memory. Its name is removed as soon as it is open, so that nothing else can
 * open it, and it vanishes with the process however that ends.
 */
export class ScratchFile {
  #end = 0;

  private constructor(private readonly handle: FileHandle) {}

  /**
   * Opens a scratch file.
   *
   * @param folder Private folder for such files, created if it is missing.
   * @throws {LeadstreamError} `E_STATE_FOREIGN`.
   * @throws The system's error, for the caller to describe.
   */
  static async open(folder: string): Promise<ScratchFile> {
    await makePrivate(folder);
    const path = temporaryName(join(folder, 'scratch'));
    const handle = await open(path, 'wx+', 0o600);
    try {
      await unlink(path);
    } catch (failure) {
      await handle.close();
      throw failure;
    }
    return new ScratchFile(handle);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#end;
  }

  /** Appends bytes. One call at a time. */
  async append(bytes: Uint8Array): Promise<Extent> {
    const extent = { at: this.#end, length: bytes.length };
    for (let written = 0; written < bytes.length;) {
      const { bytesWritten } = await this.handle.write(bytes, written, bytes.length - written, extent.at + written);
      written += bytesWritten;
    }
    this.#end += bytes.length;
    return extent;
  }

  /** Reads back an extent. @throws {Error} If the file is too short, which is a defect. */
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
