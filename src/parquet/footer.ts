import { open, type FileHandle } from 'node:fs/promises';
import type { FileMetaData } from 'hyparquet';

/** Reads the footer of a Parquet file, with a library that did not write it and is loaded on first use; returns `undefined` if there is no footer. */
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

/** @throws {RangeError} If the file ends too early. */
async function sliceOf(file: FileHandle, from: number, to: number): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(to - from);
  for (let at = 0; at < bytes.length;) {
    const { bytesRead } = await file.read(bytes, at, bytes.length - at, from + at);
    if (bytesRead === 0) throw new RangeError('the file ends early');
    at += bytesRead;
  }
  return bytes.buffer;
}
