import type { AsyncBuffer, FileMetaData } from 'hyparquet';
import { LeadstreamError, reasonOf, unknownName, type Row } from '../core/index.js';
import { checkUsage, filledText, object, texts } from '../options/index.js';

const taken = object({ path: filledText, columns: texts() }, ['path']);

/**
 * Reads the rows of a Parquet file with a library that did not write it. Values have the types of the columns.
 *
 * @param path The file.
 * @param columns Names of the columns to read. Default: all.
 * @returns One array of rows per row group; only one is in memory at a time. Each loop reads the file from the first row.
 * @throws {LeadstreamError} `E_USAGE` for invalid arguments, and for columns that the file does not have; `E_DATA` when the file cannot be read as Parquet.
 *
 * @example
 * for await (const group of readGroups('lake/leads/part-0.parquet', ['lead_id'])) console.log(group.length, 'rows');
 */
export function readGroups(path: string, columns?: readonly string[]): AsyncIterable<readonly Row[]> {
  checkUsage('readGroups', taken, { path, columns });
  const wanted = columns && [...columns];
  return { [Symbol.asyncIterator]: () => groupsOf(path, wanted) };
}

async function* groupsOf(path: string, columns: readonly string[] | undefined): AsyncGenerator<readonly Row[], void> {
  const { file, metadata } = await opened(path, columns);
  const [{ parquetReadObjects }, { decompress }, { gunzipSync }] = await Promise.all([import('hyparquet'), zstd(), import('node:zlib')]);
  const compressors = { GZIP: (bytes: Uint8Array) => gunzipSync(bytes), ZSTD: decompress };
  // The library's own decoder drops a byte order mark at the start of a text.
  const parsers = { stringFromBytes: (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('utf8') };
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const wanted = { rowStart, rowEnd, ...(columns && { columns: [...columns] }) };
    yield await parquetReadObjects({ file, metadata, compressors, parsers, ...wanted }).catch((failure: unknown) => {
      throw unreadable(path, failure);
    });
    rowStart = rowEnd;
  }
}

/** @throws {LeadstreamError} `E_DATA`; `E_USAGE` for columns that the file does not have. */
async function opened(path: string, columns: readonly string[] = []): Promise<{ file: AsyncBuffer; metadata: FileMetaData }> {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetSchema } = await import('hyparquet');
  try {
    const file = await asyncBufferFromFile(path);
    const metadata = await parquetMetadataAsync(file);
    const names = parquetSchema(metadata).children.map(({ element }) => element.name);
    const unknown = columns.find((name) => !names.includes(name));
    if (unknown !== undefined) throw new LeadstreamError('E_USAGE', `readGroups: ${path}: ${unknownName('column', unknown, names)}`);
    return { file, metadata };
  } catch (failure) {
    throw failure instanceof LeadstreamError ? failure : unreadable(path, failure);
  }
}

function unreadable(path: string, cause: unknown): LeadstreamError {
  return new LeadstreamError('E_DATA', `${path}: cannot be read as Parquet: ${reasonOf(cause)}`, { cause });
}

let loading: Promise<{ decompress(bytes: Uint8Array): Uint8Array }> | undefined;

/** Loads Zstandard in WebAssembly on first use: Node 20 does not include it. */
function zstd(): NonNullable<typeof loading> {
  loading ??= import('@bokuweb/zstd-wasm').then(async ({ decompress, init }) => {
    await init();
    return { decompress };
  });
  return loading;
}
