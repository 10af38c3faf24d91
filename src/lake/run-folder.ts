import { join } from 'node:path';
import { SinkError } from '../core/index.js';
import { fileFault, type ByteTarget, type Expected } from '../parquet/index.js';
import { makeFolders, PartialFile, sha256File, type RenameAction } from '../store/index.js';
import { openTo } from './folders.js';
import { partialEnding } from './names.js';

/** Receives the bytes of a data file. */
export interface RunFile extends ByteTarget {
  /** Number of bytes so far. */
  readonly bytes: number;
  /** The action that commits the file, once it is finished; none for a file that is not stored. */
  readonly action: RenameAction | undefined;
  /**
   * Closes the file and reads it back.
   *
   * @returns SHA-256 of the bytes written, in hexadecimal.
   * @throws {SinkError} `E_SINK_WRITE`; `E_SINK_VERIFY` when the file differs from what was written.
   */
  finish(expected: Omit<Expected, 'bytes'>): Promise<string>;
  /** Removes the file. Never rejects. */
  discard(): Promise<void>;
}

/** The folder of a run, for its data files. */
export interface RunFolder {
  /**
   * Creates a file, and the folders of its partition.
   *
   * @param below Folder of the partition, relative to that of the run; empty for none.
   * @throws {SinkError} `E_SINK_PATH`.
   */
  make(below: string, name: string): Promise<RunFile>;
}

/** An existing folder on disk. */
export class StoredFolder implements RunFolder {
  /** @param permissions Of the files; folders get the matching right to enter. */
  constructor(
    private readonly path: string,
    private readonly permissions: number,
  ) {}

  async make(below: string, name: string): Promise<RunFile> {
    const folder = join(this.path, below);
    const made = await makeFolders(folder, this.path);
    for (const each of made) await openTo(each, this.permissions);
    const path = join(folder, name);
    return new StoredFile(await PartialFile.open(path + partialEnding, path, [], this.permissions));
  }
}

/** For a run that stores nothing. */
export const nowhere: RunFolder = { make: () => Promise.resolve(new UnstoredFile()) };

class StoredFile implements RunFile {
  constructor(private readonly file: PartialFile) {}

  get bytes(): number {
    return this.file.bytes;
  }

  get action(): RenameAction {
    return this.file.action;
  }

  append(bytes: Uint8Array): Promise<void> {
    return this.file.append(bytes);
  }

  /** Reads the footer back with a library other than the one that wrote it. */
  async finish(expected: Omit<Expected, 'bytes'>): Promise<string> {
    const { file } = this;
    await file.close();
    const fault = await fileFault(file.path, { ...expected, bytes: file.bytes });
    if (fault !== undefined) throw new SinkError('E_SINK_VERIFY', `${file.path}: ${fault}`);
    const { sha256 } = file.content;
    if ((await sha256File(file.path)) !== sha256)
      throw new SinkError('E_SINK_VERIFY', `${file.path}: the bytes read back differ from those written`);
    return sha256;
  }

  discard(): Promise<void> {
    return this.file.discard();
  }
}

class UnstoredFile implements RunFile {
  readonly action = undefined;
  bytes = 0;

  append(bytes: Uint8Array): Promise<void> {
    this.bytes += bytes.length;
    return Promise.resolve();
  }

  finish(): Promise<string> {
    return Promise.resolve('');
  }

  discard(): Promise<void> {
    return Promise.resolve();
  }
}
