import { gunzipSync } from 'node:zlib';
import type { Row } from '../core/index.js';
import { zstd } from './zstd.js';

/**
 * The rows of a Parquet file, read by a library that wrote none of it. Values have the types of the columns.
 *
 * @param path The file.
 * @param columns Names of the columns that are wanted. Default: all.
 * @returns One array of rows per row group, which is what is in memory.
 *
 * @example
 * for await (const group of readGroups('lake/leads/part-0.parquet', ['lead_id'])) console.log(group.length, 'rows');
 */
export async function* readGroups(path: string, columns?: readonly string[]): AsyncIterable<readonly Row[]> {
  const [{ asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects }, { decompress }] = await Promise.all([
    import('hyparquet'),
    zstd(),
  ]);
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const compressors = { GZIP: (bytes: Uint8Array) => gunzipSync(bytes), ZSTD: decompress };
  // The library's own decoder drops a byte order mark at the head of a text.
  const parsers = { stringFromBytes: (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('utf8') };
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    yield await parquetReadObjects({
      file,
      metadata,
      compressors,
      parsers,
      rowStart,
      rowEnd,
      ...(columns ? { columns: [...columns] } : {}),
    });
    rowStart = rowEnd;
  }
}
