import { asyncBufferFromFile, parquetMetadataAsync, type FileMetaData, type SchemaElement } from 'hyparquet';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { SinkError } from '../../errors.js';
import { PartialFile, sha256File, type Move } from '../../files/index.js';
import type { OutputColumn } from '../output-column.js';
import { codecs, storages, type Encoding, type ParquetEncoder, type ParquetEngine } from './encoder.js';
import type { Manifest } from './table/manifest.js';
import type { DeclaredType } from '../../collections/index.js';
import { partialEnding } from './table/names.js';

/** One Parquet file of a run. Its file is made at once; the encoder when the columns are known. */
export class Part {
  #rows = 0;

  private constructor(
    readonly name: string,
    private readonly runId: string,
    private readonly file: PartialFile,
  ) {}

  /**
   * @param folder Folder of the run.
   * @param name Path of the part below it; the folders of its partition are there.
   * @param runId The run that writes it.
   * @throws {SinkError} `E_SINK_PATH`.
   */
  static async open(folder: string, name: string, runId: string, permissions: number): Promise<Part> {
    const path = join(folder, name);
    return new Part(name, runId, await PartialFile.open(path + partialEnding, path, [], permissions));
  }

  /** Rows given to it so far, those included that are being encoded. */
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
    const footer = await asyncBufferFromFile(this.file.path)
      .then((buffer) => parquetMetadataAsync(buffer))
      .catch(() => undefined);
    const fault = footer ? faultOf(footer, { columns, encoding, rows: this.#rows, bytes: this.file.bytes }) : 'the footer cannot be read';
    if (fault !== undefined) throw new SinkError('E_SINK_VERIFY', `${this.file.path}: ${fault}`);
  }
}

/** What one part takes, and what the manifest says of it afterwards. */
export interface PartWriter {
  /**
   * @param group What a row group of the engine gave.
   * @param rows How many rows that is.
   * @returns When it is stored. One call at a time.
   */
  writeGroup(group: unknown, rows: number): Promise<void>;
  /** Closes, syncs and verifies the file. */
  finish(): Promise<Manifest['files'][number]>;
}

interface Expected {
  readonly columns: readonly OutputColumn[];
  readonly encoding: Encoding;
  readonly rows: number;
  /** Length of the file. */
  readonly bytes: number;
}

/** In what a footer differs from what was written; `undefined` when it is as it should be. */
export function faultOf(footer: FileMetaData, expected: Expected): string | undefined {
  return rowFault(footer, expected) ?? schemaFault(footer, expected) ?? chunkFault(footer, expected);
}

function rowFault({ num_rows: rows, row_groups: groups }: FileMetaData, expected: Expected): string | undefined {
  const sum = groups.reduce((total, group) => total + group.num_rows, 0n);
  if (rows === BigInt(expected.rows) && sum === rows) return undefined;
  return `wrote ${expected.rows} rows, read back ${rows}, of which ${sum} in row groups`;
}

function schemaFault({ schema }: FileMetaData, { columns }: Expected): string | undefined {
  const found = schema.slice(1);
  if (found.length !== columns.length) return `wrote ${columns.length} columns, read back ${found.length}`;
  for (const [index, { name, type }] of columns.entries()) {
    const element = found[index];
    if (element?.name !== name) return `wrote column ${name}, read back ${element?.name}`;
    if (!isStoredAs(type, element)) return `column ${name} is no ${storages[type].converted_type ?? storages[type].type}`;
  }
  return undefined;
}

/** Whether a column of a footer has the type that a declared one is stored as. */
export function isStoredAs(declared: DeclaredType, { type, converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  const storage = storages[declared];
  // parquetjs-lite knows the converted types only, which say the same.
  const same = logical === undefined || isDeepStrictEqual(logical, storage.logical_type);
  return type === storage.type && converted === storage.converted_type && same;
}

function chunkFault({ row_groups: groups, metadata_length: footer }: FileMetaData, expected: Expected): string | undefined {
  const end = BigInt(expected.bytes - footer - 8);
  for (const { columns, num_rows: rows } of groups) {
    if (columns.length !== expected.columns.length) return `a row group has ${columns.length} of ${expected.columns.length} columns`;
    for (const [index, { name, type }] of expected.columns.entries()) {
      const chunk = columns[index]?.meta_data;
      const same =
        chunk?.path_in_schema.join('.') === name &&
        chunk.type === storages[type].type &&
        chunk.codec === codecs[expected.encoding.compression] &&
        chunk.num_values === rows;
      if (!same) return `a row group has other data for column ${name}`;
      const start = chunk.dictionary_page_offset ?? chunk.data_page_offset;
      const inside = start >= 4n && chunk.data_page_offset >= start && start + chunk.total_compressed_size <= end;
      if (!inside) return `the data of column ${name} lies outside the file`;
    }
  }
  return undefined;
}
