import { join } from 'node:path';
import { SinkError, type OutputColumn } from '../core/index.js';
import { PartialFile, sha256File, type Action } from '../store/index.js';
import { type Encoding, type ParquetEncoder, type ParquetEngine, fileFault } from '../parquet/index.js';
import type { Manifest } from './manifest.js';
import { partialEnding } from './names.js';

/** One Parquet file of a run. Its file is made at once; the encoder when the columns are known. */
export class DataFile {
  #rows = 0;

  private constructor(
    readonly name: string,
    private readonly runId: string,
    private readonly file: PartialFile,
  ) {}

  /**
   * @param folder Folder of the run.
   * @param name Path of the file below it; the folders of its partition are there.
   * @param runId The run that writes it.
   * @throws {SinkError} `E_SINK_PATH`.
   */
  static async open(folder: string, name: string, runId: string, permissions: number): Promise<DataFile> {
    const path = join(folder, name);
    return new DataFile(name, runId, await PartialFile.open(path + partialEnding, path, [], permissions));
  }

  /** Rows given to it so far, those included that are being encoded. */
  get rows(): number {
    return this.#rows;
  }

  /** Bytes on disk so far. */
  get bytes(): number {
    return this.file.bytes;
  }

  get action(): Action {
    return this.file.action;
  }

  async begin(engine: ParquetEngine, columns: readonly OutputColumn[], encoding: Encoding): Promise<DataFileWriter> {
    const encoder: ParquetEncoder = await engine.open(this.file, columns, encoding);
    return {
      writeGroup: (group, rows) => {
        this.#rows += rows;
        return encoder.writeGroup(group);
      },
      finish: async () => {
        await encoder.finish();
        await this.file.close();
        await this.#verify(columns, encoding);
        const { bytes, sha256 } = this.file.content;
        if ((await sha256File(this.file.path)) !== sha256)
          throw new SinkError('E_SINK_VERIFY', `${this.file.path}: other bytes were read back than written`);
        return { name: this.name, rows: this.#rows, bytes, sha256, written_by: this.runId };
      },
    };
  }

  discard(): Promise<void> {
    return this.file.discard();
  }

  /** Reads the footer back with a library that did not write it, and compares it with what was asked for. */
  async #verify(columns: readonly OutputColumn[], encoding: Encoding): Promise<void> {
    const fault = await fileFault(this.file.path, { columns, encoding, rows: this.#rows, bytes: this.file.bytes });
    if (fault !== undefined) throw new SinkError('E_SINK_VERIFY', `${this.file.path}: ${fault}`);
  }
}

/** What one file takes, and what the manifest says of it afterwards. */
export interface DataFileWriter {
  /**
   * @param group What a row group of the engine gave.
   * @param rows How many rows that is.
   * @returns When it is stored. One call at a time.
   */
  writeGroup(group: unknown, rows: number): Promise<void>;
  /** Closes, syncs and verifies the file. */
  finish(): Promise<Manifest['files'][number]>;
}
