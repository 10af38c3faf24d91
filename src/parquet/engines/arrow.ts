import { parquetMetadata, type ColumnChunk, type RowGroup, type SchemaElement } from 'hyparquet';
import { SinkError, version, type OutputColumn } from '../../core/index.js';
import { metadataOf, storages, type Encoding, type ParquetEngine } from '../engine.js';
import { footer, magic } from './arrow/footer.js';
import { rowGroup, type TakenBytes } from './arrow/row-bytes.js';
import { groupEncoding } from './arrow/thread.js';

/**
 * parquet-wasm (arrow-rs): dictionaries, statistics in byte order, V1 data pages that every reader supports, 64-bit values exact. The level of
 * zstd is always 1.
 *
 * Rows become column bytes as they arrive (text from an answer without becoming strings), in 0.5 µs each with 33 columns. A row group becomes an
 * Arrow stream and then a complete Parquet file in memory, in 4 µs per row, whose pages are appended to the target. The library's memory grows to
 * what the largest row group needs, and is not released before the encoding thread ends.
 *
 * @param threads 1 encodes in a thread shared by all tables of the process. The bytes are the same. Default: 1 if a thread is possible and there is
 * a core for it.
 */
export function arrowEngine(threads?: number): ParquetEngine<TakenBytes> {
  const encoding = groupEncoding(threads);
  return {
    rowGroup: (columns, plan) => {
      encoding.start();
      return rowGroup(columns, plan);
    },

    async open(target, columns, how) {
      const groups: RowGroup[] = [];
      let written = 0;
      const append = async (bytes: Uint8Array) => {
        await target.append(bytes);
        written += bytes.length;
      };
      await append(magic);
      return {
        async writeGroup(group) {
          const slice = sliceOf(await encoding.encode(group, how.compression), written);
          await append(slice.bytes);
          groups.push(slice.group);
        },
        async finish() {
          const schema = schemaOf(columns);
          await append(footer({ createdBy, schema, groups, sorting: sortingOf(columns, how), metadata: metadataOf(columns, how) }));
        },
      };
    },

    close: () => encoding.close(),
  };
}

/** The row group of a single-group Parquet file, ready to be put into another file. */
interface Slice {
  readonly bytes: Uint8Array;
  readonly group: RowGroup;
}

/**
 * Extracts the row group from a file.
 *
 * @param file A file with one row group, which begins right after the magic.
 * @param at Offset of its bytes in the other file.
 * @throws {SinkError} `E_SINK_WRITE` when the file has no row group.
 */
function sliceOf(file: Uint8Array, at: number): Slice {
  const [group] = parquetMetadata(file, { parsers: asWritten, geoparquet: false }).row_groups;
  if (!group) throw new SinkError('E_SINK_WRITE', 'the engine arrow returned no row group');
  const shift = BigInt(at - magic.length);
  const length = group.columns.reduce((sum, { meta_data: data }) => sum + Number(data?.total_compressed_size ?? 0), 0);
  return {
    bytes: file.subarray(magic.length, magic.length + length),
    group: {
      columns: group.columns.map((column) => moved(column, shift)),
      total_byte_size: group.total_byte_size,
      total_compressed_size: BigInt(length),
      file_offset: BigInt(at),
      num_rows: group.num_rows,
    },
  };
}

/** Keeps statistics byte for byte as the encoder wrote them. Texts are copied: a view would keep the whole file in memory. */
const asWritten = {
  stringFromBytes: (bytes: Uint8Array) => Uint8Array.from(bytes),
  timestampFromMicroseconds: (micros: bigint) => micros,
  dateFromDays: (days: number) => days,
};

/** Drops page indexes: they are elsewhere and contain offsets themselves. */
function moved({ file_offset: fileOffset, meta_data: data }: ColumnChunk, shift: bigint): ColumnChunk {
  if (!data) return { file_offset: fileOffset };
  const dictionary = data.dictionary_page_offset;
  return {
    file_offset: 0n,
    meta_data: {
      type: data.type,
      encodings: data.encodings,
      path_in_schema: data.path_in_schema,
      codec: data.codec,
      num_values: data.num_values,
      total_uncompressed_size: data.total_uncompressed_size,
      total_compressed_size: data.total_compressed_size,
      data_page_offset: data.data_page_offset + shift,
      ...(dictionary === undefined ? {} : { dictionary_page_offset: dictionary + shift }),
      ...(data.statistics && { statistics: data.statistics }),
      ...(data.encoding_stats && { encoding_stats: data.encoding_stats }),
    },
  };
}

/** The writer of a file, in the format that parquet-mr parses; it ignores the statistics of applications that it cannot parse. */
const createdBy = `leadstream version ${version}`;

/**
 * Returns the schema of a file: every column is optional, and none has a field id. Readers that find ids match columns only by them, so ids not
 * assigned by a table format would make them read nulls.
 */
function schemaOf(columns: readonly OutputColumn[]): SchemaElement[] {
  const elements = columns.map(({ name, type }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...storages[type] }));
  return [{ name: 'root', num_children: columns.length }, ...elements];
}

/** Returns the order declared in row groups; nothing if they are not sorted. */
function sortingOf(columns: readonly OutputColumn[], { sortedBy }: Encoding): NonNullable<RowGroup['sorting_columns']> {
  return sortedBy.map(({ column, descending }) => {
    return { column_idx: columns.findIndex(({ name }) => name === column), descending, nulls_first: false };
  });
}
