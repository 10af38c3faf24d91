import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { join } from 'node:path';
import { SinkError } from '../../errors.js';
import { PartialFile, sha256File, type Move } from '../../files/index.js';
import type { OutputColumn } from '../projection.js';
import type { Encoding, ParquetEncoder, ParquetEngine } from './encoder.js';
import type { Manifest } from './manifest.js';
import { partialEnding } from './table.js';
import type { Value } from '../../collections/index.js';

/** One Parquet file of a run. Its file is made at once; the encoder when the columns are known. */
export class Part {
  #rows = 0;

  private constructor(
    readonly name: string,
    private readonly file: PartialFile,
  ) {}

  /**
   * @param folder Folder of the run.
   * @param name Path of the part below it; the folders of its partition are there.
   * @throws {SinkError} `E_SINK_PATH`.
   */
  static async open(folder: string, name: string, permissions: number): Promise<Part> {
    const path = join(folder, name);
    return new Part(name, await PartialFile.open(path + partialEnding, path, [], permissions));
  }

  get rows(): number {
    return this.#rows;
  }

  /** Bytes on disk so far. */
  get bytes(): number {
    return this.file.bytes;
  }

  get move(): Move {
    return this.file.move;
  }

  async begin(engine: ParquetEngine, columns: readonly OutputColumn[], encoding: Encoding): Promise<PartWriter> {
    const encoder: ParquetEncoder = await engine.open(this.file, columns, encoding);
    return {
      writeGroup: async (values, rows) => {
        await encoder.writeGroup(values, rows);
        this.#rows += rows;
      },
      finish: async () => {
        await encoder.finish();
        await this.file.close();
        await this.#verify(columns);
        return { name: this.name, rows: this.#rows, bytes: this.file.bytes, sha256: await sha256File(this.file.path) };
      },
    };
  }

  discard(): Promise<void> {
    return this.file.discard();
  }

  /** Reads the footer back with a library that did not write it, and compares rows and columns. */
  async #verify(columns: readonly OutputColumn[]): Promise<void> {
    const expected = columns.map(({ name }) => name);
    const footer = await asyncBufferFromFile(this.file.path)
      .then((buffer) => parquetMetadataAsync(buffer))
      .catch(() => undefined);
    const found = footer?.schema.slice(1).map(({ name }) => name) ?? [];
    const same = found.length === expected.length && found.every((name, index) => name === expected[index]);
    if (footer && same && footer.num_rows === BigInt(this.#rows)) return;
    const seen = footer ? `${footer.num_rows} rows of ${found.length} columns` : 'no footer';
    throw new SinkError('E_SINK_VERIFY', `${this.file.path}: wrote ${this.#rows} rows of ${expected.length} columns, read back ${seen}`);
  }
}

/** What one part takes, and what the manifest says of it afterwards. */
export interface PartWriter {
  writeGroup(values: readonly (readonly Value[])[], rows: number): Promise<void>;
  /** Closes, syncs and verifies the file. */
  finish(): Promise<Manifest['files'][number]>;
}
