import { isDeepStrictEqual } from 'node:util';
import type { AsyncBuffer, FileMetaData, SchemaElement } from 'hyparquet';
import { amount, amountOf, LeadstreamError, reasonOf, unknownName, type DeclaredType, type OutputColumn, type Row } from '../core/index.js';
import { checkUsage, filledText, object, texts } from '../options/index.js';
import { codecs, storages, type Encoding } from './engine.js';

export interface Expected {
  readonly columns: readonly Pick<OutputColumn, 'name' | 'type'>[];
  readonly encoding: Encoding;
  readonly rows: number;
  readonly bytes: number;
}

/** Reads the footer of a Parquet file with a library that did not write it, loaded on first use; `undefined` if it has none. */
export async function footerOf(path: string): Promise<FileMetaData | undefined> {
  const { asyncBufferFromFile, parquetMetadataAsync } = await import('hyparquet');
  const footer = asyncBufferFromFile(path).then((file) => parquetMetadataAsync(file, { parsers: exactTexts }));
  return footer.catch(() => undefined);
}

/** The library's own decoder drops a byte order mark at the start of a text. */
const exactTexts = { stringFromBytes: (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('utf8') };

/** Describes how a footer differs from what was written, if it does. */
export function footerFault(footer: FileMetaData, expected: Expected): string | undefined {
  return contentFault(footer, expected) ?? chunkFault(footer, expected);
}

/** Describes how the rows and columns of a footer differ from what was written, if they do. */
export function contentFault(footer: FileMetaData, { rows, columns }: Pick<Expected, 'rows' | 'columns'>): string | undefined {
  const sum = footer.row_groups.reduce((total, group) => total + group.num_rows, 0n);
  if (footer.num_rows !== BigInt(rows) || sum !== footer.num_rows)
    return `wrote ${amountOf(rows, 'row')}, read back ${amount(Number(footer.num_rows))}, ${amount(Number(sum))} of them in row groups`;
  const found = footer.schema.slice(1);
  if (found.length !== columns.length) return `wrote ${amountOf(columns.length, 'column')}, read back ${found.length}`;
  for (const [index, { name, type }] of columns.entries()) {
    const element = found[index];
    if (element?.name !== asDecoded(name)) return `wrote column ${name}, read back ${element?.name}`;
    if (!isStoredAs(type, element)) return `column ${name} is not ${storages[type].converted_type ?? storages[type].type}`;
  }
  return undefined;
}

/** The library drops a byte order mark at the start of a name. */
function asDecoded(name: string): string {
  return name.replace(/^\ufeff/, '');
}

function isStoredAs(declared: DeclaredType, { type, converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  const storage = storages[declared];
  // parquetjs-lite writes only the converted types, which are equivalent.
  const same = logical === undefined || isDeepStrictEqual(logical, storage.logical_type);
  return type === storage.type && converted === storage.converted_type && same;
}

function chunkFault({ row_groups: groups, metadata_length: footer }: FileMetaData, expected: Expected): string | undefined {
  const end = BigInt(expected.bytes - footer - 8);
  for (const { columns, num_rows: rows } of groups) {
    if (columns.length !== expected.columns.length)
      return `a row group has ${columns.length} of ${amountOf(expected.columns.length, 'column')}`;
    for (const [index, { name, type }] of expected.columns.entries()) {
      const chunk = columns[index]?.meta_data;
      const same =
        chunk?.path_in_schema.join('.') === asDecoded(name) &&
        chunk.type === storages[type].type &&
        chunk.codec === codecs[expected.encoding.compression] &&
        chunk.num_values === rows;
      if (!same) return `a row group has unexpected data for column ${name}`;
      const start = chunk.dictionary_page_offset ?? chunk.data_page_offset;
      const inside = start >= 4n && chunk.data_page_offset >= start && start + chunk.total_compressed_size <= end;
      if (!inside) return `the data of column ${name} is outside the file`;
    }
  }
  return undefined;
}

const parameters = object({ path: filledText, columns: texts() }, ['path']);

/**
 * Reads the rows of a Parquet file with a library that did not write it. Values have the columns' types.
 *
 * @param columns Names of the columns to read. Default: all.
 * @returns An array of rows per row group; only one is in memory at a time. Each loop reads the file from the first row.
 * @throws {LeadstreamError} `E_USAGE` for invalid arguments and for columns that the file lacks; `E_DATA` if the file is not readable as
 * Parquet.
 *
 * @example
 * for await (const group of readGroups('lake/leads/part-0.parquet', ['lead_id'])) console.log(group.length, 'rows');
 */
export function readGroups(path: string, columns?: readonly string[]): AsyncIterable<readonly Row[]> {
  checkUsage('readGroups', parameters, { path, columns });
  const wanted = columns && [...columns];
  return { [Symbol.asyncIterator]: () => groupsOf(path, wanted, exactTexts) };
}

/** Rows at a time: row groups of other programs may have millions. */
const windowRows = 65_536;

/** As `readGroups`, by parts of row groups. Instants beyond milliseconds are texts, because two of them could be one `Date`. */
export function readExactGroups(path: string): AsyncIterable<readonly Row[]> {
  const exact = (perMs: bigint) => (value: bigint) => (value % perMs === 0n ? new Date(Number(value / perMs)) : String(value));
  const instants = { timestampFromMicroseconds: exact(1000n), timestampFromNanoseconds: exact(1_000_000n) };
  return groupsOf(path, undefined, { ...exactTexts, ...instants }, windowRows);
}

async function* groupsOf(
  path: string,
  columns: readonly string[] | undefined,
  parsers: object,
  most = Infinity,
): AsyncGenerator<readonly Row[], void> {
  const { file, metadata } = await opened(path, columns);
  const [{ parquetReadObjects }, { decompress }, { gunzipSync }] = await Promise.all([import('hyparquet'), zstd(), import('node:zlib')]);
  const compressors = { GZIP: (bytes: Uint8Array) => gunzipSync(bytes), ZSTD: decompress };
  let [rowStart, groupEnd] = [0, 0];
  for (const group of metadata.row_groups) {
    groupEnd += Number(group.num_rows);
    do {
      const rowEnd = Math.min(groupEnd, rowStart + most);
      const wanted = { rowStart, rowEnd, ...(columns && { columns: [...columns] }) };
      yield await parquetReadObjects({ file, metadata, compressors, parsers, ...wanted }).catch((failure: unknown) => {
        throw unreadable(path, failure);
      });
      rowStart = rowEnd;
    } while (rowStart < groupEnd);
  }
}

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

/** Loaded on first use: Node 20 has no Zstandard. */
function zstd(): NonNullable<typeof loading> {
  loading ??= import('@bokuweb/zstd-wasm').then(async ({ decompress, init }) => {
    await init();
    return { decompress };
  });
  return loading;
}
