import { parquetMetadata, type ColumnChunk, type RowGroup } from 'hyparquet';
import { SinkError } from '../../../core/index.js';
import { magic } from '../footer.js';

/** The row group of a single-group Parquet file, ready to be put into another file. */
export interface Slice {
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
export function sliceOf(file: Uint8Array, at: number): Slice {
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
