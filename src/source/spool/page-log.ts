import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import { errnoOf } from '../../store/index.js';

export const logName = 'pages.log';

/**
 * Bytes of a record before the body, numbers little-endian:
 *
 * | offset | bytes | what                                                    |
 * | ------ | ----- | ------------------------------------------------------- |
 * | 0      | 4     | `89 4c 50 01`, which no JSON can contain                |
 * | 4      | 4     | page number                                             |
 * | 8      | 4     | bytes of the body                                       |
 * | 12     | 4     | the same with every bit inverted                        |
 * | 16     | 16    | head of the SHA-256 of everything above, then the body  |
 *
 * The body follows raw, and the next record follows that.
 */
export const headerBytes = 32;

const magic = 0x01_50_4c_89;
const sumAt = 16;

export function headerOf(page: number, body: Uint8Array): Buffer {
  const header = Buffer.allocUnsafe(headerBytes);
  header.writeUInt32LE(magic, 0);
  header.writeUInt32LE(page, 4);
  header.writeUInt32LE(body.byteLength, 8);
  header.writeUInt32LE(~body.byteLength >>> 0, 12);
  sumOf(header, body).copy(header, sumAt);
  return header;
}

/** Parses a header, with the length including the header; `undefined` for other bytes. `isIntact` verifies the record. */
function parseHeader(header: Buffer): { readonly page: number; readonly bytes: number } | undefined {
  if (header.length < headerBytes || header.readUInt32LE(0) !== magic) return undefined;
  const length = header.readUInt32LE(8);
  // A wrong length would mislead the reader, and could request as much memory as the file is long.
  if (header.readUInt32LE(12) !== ~length >>> 0) return undefined;
  return { page: header.readUInt32LE(4), bytes: headerBytes + length };
}

export function isIntact(record: Buffer, page: number): boolean {
  const found = parseHeader(record);
  if (found?.page !== page || found.bytes !== record.length) return false;
  return sumOf(record, record.subarray(headerBytes)).equals(record.subarray(sumAt, headerBytes));
}

/** Yields the complete records at the head of a log, with their ends. Stops before one beyond `size` or with an invalid header. */
export function* recordsIn(file: number, size: number): Generator<{ readonly page: number; readonly end: number }> {
  const header = Buffer.allocUnsafe(headerBytes);
  let end = 0;
  for (;;) {
    const found = parseHeader(header.subarray(0, readAt(file, header, end)));
    if (found === undefined || end + found.bytes > size) return;
    end += found.bytes;
    yield { page: found.page, end };
  }
}

/** Returns whether data is lost: a bad sector means missing data, a lack of permissions does not. */
export function isLost(thrown: unknown): boolean {
  return errnoOf(thrown) === 'EIO';
}

export function unlessLost(thrown: unknown): { readonly bytesRead: number } {
  if (isLost(thrown)) return { bytesRead: 0 };
  throw thrown;
}

/** Synchronous: thousands of reads of a few bytes would take twenty times as long asynchronously. */
function readAt(file: number, into: Buffer, position: number): number {
  try {
    return readSync(file, into, 0, into.length, position);
  } catch (thrown) {
    return unlessLost(thrown).bytesRead;
  }
}

function sumOf(header: Buffer, body: Uint8Array): Buffer {
  const digest = createHash('sha256').update(header.subarray(0, sumAt)).update(body).digest();
  return digest.subarray(0, headerBytes - sumAt);
}
