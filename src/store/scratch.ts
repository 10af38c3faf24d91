import { readSync, rmSync } from 'node:fs';
import { open, readdir, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { undoing, unlessLocked } from './failure.js';
import { orClose, randomId, temporaryName } from './files.js';
import { lockOwn, type RunLock } from './lock.js';
import { makePrivate } from './own.js';

/** A range of a scratch file, in bytes. */
export interface Extent {
  readonly at: number;
  readonly length: number;
}

/** A file for data beyond memory. Once open, it has no name, and vanishes with the process however that ends. */
export class ScratchFile {
  #end = 0;

  private constructor(private readonly handle: FileHandle) {}

  /** @param folder Private folder for such files, created if missing. @throws As `makePrivate`. */
  static async open(folder: string): Promise<ScratchFile> {
    await makePrivate(folder);
    const path = temporaryName(join(folder, 'scratch'));
    const handle = await open(path, 'wx+', 0o600);
    await orClose(handle, () => unlink(path));
    return new ScratchFile(handle);
  }

  /** Opens a file that is there, to read it. */
  static async reading(path: string): Promise<ScratchFile> {
    return new ScratchFile(await open(path, 'r'));
  }

  /** Appends bytes. One call at a time. */
  async append(bytes: Uint8Array): Promise<Extent> {
    const extent = { at: this.#end, length: bytes.length };
    await this.handle.appendFile(bytes);
    this.#end += bytes.length;
    return extent;
  }

  /** Reads extents, synchronously: most are in the system's cache. @throws {Error} If the file is too short, which is a defect. */
  readAll(extents: readonly Extent[]): readonly Buffer[] {
    return extents.map(({ at, length }) => {
      const bytes = Buffer.allocUnsafe(length);
      for (let read = 0; read < length;) {
        const count = readSync(this.handle.fd, bytes, read, length - read, at + read);
        if (count === 0) throw new Error(`a scratch file ends before byte ${at + length}`);
        read += count;
      }
      return bytes;
    });
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

/** A folder, or its lock, which may be all that a killed process left. */
const folderName = /^\.?(spill-[0-9a-f]{16})(?:\.lock)?$/;

/** A private folder for files that a library spills, locked while its process lives. The next one to open removes a killed process's. */
export class ScratchFolder {
  private constructor(
    readonly path: string,
    private readonly lock: RunLock,
  ) {}

  /** @param parent Private folder for such folders, created if missing. @throws As `makePrivate`. */
  static async open(parent: string): Promise<ScratchFolder> {
    await makePrivate(parent);
    const left = new Set((await readdir(parent)).flatMap((name) => folderName.exec(name)?.[1] ?? []));
    for (const name of left) await (await ScratchFolder.#locked(join(parent, name)))?.remove();
    const folder = await ScratchFolder.#locked(join(parent, `spill-${randomId()}`));
    if (folder === undefined) throw new Error('a random name is in use');
    await makePrivate(folder.path).catch(undoing(() => folder.remove()));
    return folder;
  }

  /** @returns `undefined` if a living process uses the folder. */
  static async #locked(path: string): Promise<ScratchFolder | undefined> {
    const lock = await lockOwn(path, { runId: 'scratch' }).catch(unlessLocked);
    return lock && new ScratchFolder(path, lock);
  }

  /** Removes the content at once, as far as the system lets go of open files. Never throws. */
  empty(): void {
    try {
      rmSync(this.path, { recursive: true, force: true });
    } catch {
      // What is left is removed later.
    }
  }

  /** Removes the folder. Never rejects. */
  async remove(): Promise<void> {
    this.empty();
    await this.lock.release();
  }
}
