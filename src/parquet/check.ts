import { open, type FileHandle } from 'node:fs/promises';
import type { FileMetaData, SchemaElement } from 'hyparquet';
import { isDeepStrictEqual } from 'node:util';
import { amount, amountOf, type DeclaredType, type OutputColumn } from '../core/index.js';
import { codecs, storages, type Encoding } from './engine.js';

/** The content written to a file. */
export interface Expected {
  readonly columns: readonly OutputColumn[];
  readonly encoding: Encoding;
  readonly rows: number;
  /** Length of the file. */
  readonly bytes: number;
}

/**
 * Describes how the footer of a file differs from what was written, as read by another library than the one that wrote it; `undefined` if it does not.
 */
export async function fileFault(path: string, expected: Expected): Promise<string | undefined> {
  const footer = await footerOf(path);
  return footer ? faultOf(footer, expected) : 'the footer cannot be read';
}

/** Reads the footer of a Parquet file with a library that did not write it, loaded on first use; `undefined` if there is none. */
export async function footerOf(path: string): Promise<FileMetaData | undefined> {
  const { parquetMetadataAsync } = await import('hyparquet');
  try {
    const file = await open(path);
    try {
      const { size: byteLength } = await file.stat();
      return await parquetMetadataAsync({ byteLength, slice: (from, to = byteLength) => sliceOf(file, from, to) });
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

/** @throws {RangeError} When the file ends before `to`. */
async function sliceOf(file: FileHandle, from: number, to: number): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(to - from);
  for (let at = 0; at < bytes.length;) {
    const { bytesRead } = await file.read(bytes, at, bytes.length - at, from + at);
    if (bytesRead === 0) throw new RangeError('the file ends early');
    at += bytesRead;
  }
  return bytes.buffer;
}

/** Describes how a footer differs from what was written; `undefined` if it is correct. */
export function faultOf(footer: FileMetaData, expected: Expected): string | undefined {
  return rowFault(footer, expected) ?? schemaFault(footer, expected) ?? chunkFault(footer, expected);
}

function rowFault({ num_rows: rows, row_groups: groups }: FileMetaData, expected: Expected): string | undefined {
  const sum = groups.reduce((total, group) => total + group.num_rows, 0n);
  if (rows === BigInt(expected.rows) && sum === rows) return undefined;
  return `wrote ${amountOf(expected.rows, 'row')}, read back ${amount(Number(rows))}, ${amount(Number(sum))} of them in row groups`;
}

function schemaFault({ schema }: FileMetaData, { columns }: Expected): string | undefined {
  const found = schema.slice(1);
  if (found.length !== columns.length) return `wrote ${amountOf(columns.length, 'column')}, read back ${found.length}`;
  for (const [index, { name, type }] of columns.entries()) {
    const element = found[index];
    if (element?.name !== name) return `wrote column ${name}, read back ${element?.name}`;
    if (!isStoredAs(type, element)) return `column ${name} is not ${storages[type].converted_type ?? storages[type].type}`;
  }
  return undefined;
}

/** Returns whether a column of a footer has the type that a declared type is stored as. */
export function isStoredAs(declared: DeclaredType, { type, converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  const storage = storages[declared];
  // parquetjs-lite supports only the converted types, which are equivalent.
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
        chunk?.path_in_schema.join('.') === name &&
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
