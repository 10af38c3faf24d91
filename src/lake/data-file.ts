import { join } from 'node:path';
import type { OutputColumn } from '../core/index.js';
import type { Encoding, ParquetEncoder, ParquetEngine } from '../parquet/index.js';
import type { RenameAction } from '../store/index.js';
import type { Manifest } from './manifest.js';
import type { RunFile, RunFolder } from './run-folder.js';

/** One Parquet file of a run. The file is created immediately, the encoder when the columns are known. */
export class DataFile {
  #rows = 0;

  private constructor(
    readonly name: string,
    private readonly runId: string,
    private readonly file: RunFile,
  ) {}

  /**
   * @param below Folder of its partition; empty for none.
   * @param runId The run that writes it.
   * @throws {SinkError} `E_SINK_PATH`.
   */
  static async open(folder: RunFolder, below: string, name: string, runId: string): Promise<DataFile> {
    return new DataFile(join(below, name), runId, await folder.make(below, name));
  }

  /** Number of rows passed to it so far, including those being encoded. */
  get rows(): number {
    return this.#rows;
  }

  /** Number of bytes so far. */
  get bytes(): number {
    return this.file.bytes;
  }

  /** The action that commits it; none for a file that is not stored. */
  get action(): RenameAction | undefined {
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
        const sha256 = await this.file.finish({ columns, encoding, rows: this.#rows });
        return { name: this.name, rows: this.#rows, bytes: this.file.bytes, sha256, written_by: this.runId };
      },
    };
  }

  discard(): Promise<void> {
    return this.file.discard();
  }
}

/** Writes one file, and describes it for the manifest. */
export interface DataFileWriter {
  /**
   * @param group A row group made by the engine.
   * @param rows Its number of rows.
   * @returns When it is stored. Only one call at a time.
   */
  writeGroup(group: unknown, rows: number): Promise<void>;
  /** Closes, syncs and verifies the file. */
  finish(): Promise<Manifest['files'][number]>;
}
