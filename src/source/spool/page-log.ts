import { constants, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import { itemAt } from '../../core/index.js';
import { openOwn, errnoOf } from '../../store/index.js';

/** Name of the file with the pages, in the folder of a source. */
export const logName = 'pages.log';

/**
 * The pages of one source: one file of consecutive records, in the order of spooling. If a page has several records, the last one counts.
 * Uses about 50 bytes of memory per page.
 *
 * Pages that arrive while others are being written are written together. Only one process may use it at a time. Errors are those of the
 * system; `Spool` adds messages.
 */
export class PageLog {
  /** Number of pages that did not read back as written, and were dropped. */
  damaged = 0;
  /** Index of the current record of each page. */
  readonly #records = new Map<number, number>();
  /** Record `i` spans `#bounds[i]` to `#bounds[i + 1]`. A replaced record keeps its place. */
  readonly #bounds = [0];
  /** The pages to write together at their turn. */
  #next: { readonly entries: Entry[]; readonly stored: Promise<void> } | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  /** Whether there may be a partial record after the last one. */
  #torn = false;

  private constructor(
    private readonly handle: FileHandle,
    private readonly maxBytes: number,
  ) {}

  /**
   * Opens the log of a folder, creating it if missing, and truncates what a killed process left half-written, but never in a file reached
   * by another name or a link. It reads only headers. A page of more than `maxPageBytes` counts as damaged.
   */
  static async open(folder: string, maxPageBytes: number): Promise<PageLog> {
    const handle = await openOwn(join(folder, logName), flags);
    try {
      const log = new PageLog(handle, Math.min(headerBytes + maxPageBytes, largestRead));
      const { size } = await handle.stat();
      for (const { page, end } of recordsIn(handle.fd, size)) {
        log.#add(page, end);
        // Lets signals and timers run.
        if (log.#bounds.length % 1_000 === 0) await setImmediate();
      }
      if (size > log.#end) await handle.truncate(log.#end);
      return log;
    } catch (failure) {
      await handle.close();
      throw failure;
    }
  }

  get count(): number {
    return this.#records.size;
  }

  last(): number | undefined {
    let last: number | undefined;
    for (const page of this.#records.keys()) if (last === undefined || page > last) last = page;
    return last;
  }

  /** Returns the contents of a page; `undefined` if it is not available, or damaged. */
  async read(page: number): Promise<Uint8Array | undefined> {
    const index = this.#records.get(page);
    if (index === undefined) return undefined;
    const from = itemAt(this.#bounds, index);
    const bytes = itemAt(this.#bounds, index + 1) - from;
    if (bytes > this.maxBytes) return this.forget(page);
    const record = Buffer.allocUnsafe(bytes);
    const { bytesRead } = await this.handle.read(record, 0, bytes, from).catch(unlessLost);
    if (isIntact(record.subarray(0, bytesRead), page)) return record.subarray(headerBytes);
    return this.#records.get(page) === index ? this.forget(page) : undefined;
  }

  /** Counts a page as damaged, because its content cannot be what was stored. */
  forget(page: number): undefined {
    if (this.#records.delete(page)) this.damaged += 1;
  }

  /**
   * Stores a page, replacing an earlier one with that number. It resolves when the system has taken the bytes; `body` must not change until
   * then. After a failure the pages of the same write are not stored, and the log continues after the ones before them.
   */
  write(page: number, body: Uint8Array): Promise<void> {
    const parts = [headerOf(page, body), body];
    if (this.#next === undefined) {
      const entries: Entry[] = [];
      this.#next = { entries, stored: this.#inTurn(() => this.#append(entries)) };
    }
    this.#next.entries.push({ page, parts });
    return this.#next.stored;
  }

  /** Removes all pages, except those stored from now on. */
  clear(): Promise<void> {
    this.#next = undefined;
    return this.#inTurn(async () => {
      await this.handle.truncate(0);
      this.#records.clear();
      this.#bounds.length = 1;
      this.#torn = false;
    });
  }

  /** Closes the file after the last write and read. Never rejects. */
  async close(): Promise<void> {
    await this.#inTurn(() => this.handle.close()).catch(() => undefined);
  }

  async #append(entries: readonly Entry[]): Promise<void> {
    this.#next = undefined;
    if (this.#torn) await this.handle.truncate(this.#end);
    this.#torn = true;
    let rest = entries.flatMap(({ parts }) => parts);
    // The system may take less than it was given, usually when a disk is almost full.
    for (let at = this.#end; rest.length > 0;) {
      const { bytesWritten } = await this.handle.writev(rest, at);
      at += bytesWritten;
      rest = behind(rest, bytesWritten);
    }
    this.#torn = false;
    for (const { page, parts } of entries)
      this.#add(
        page,
        parts.reduce((end, part) => end + part.byteLength, this.#end),
      );
  }

  get #end(): number {
    return itemAt(this.#bounds, this.#bounds.length - 1);
  }

  #add(page: number, end: number): void {
    this.#records.set(page, this.#bounds.length - 1);
    this.#bounds.push(end);
  }

  /** Runs operations one after another, even if an earlier one failed. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}

interface Entry {
  readonly page: number;
  /** The header and the body. */
  readonly parts: readonly Uint8Array[];
}

/** The maximum that Node can read in one call; beyond it the process crashes. */
const largestRead = 2 ** 31 - 1;

const flags = constants.O_RDWR | constants.O_CREAT;

/** Returns the rest of the parts after some bytes. */
function behind(parts: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skip = bytes;
  return parts.flatMap((part) => {
    const left = part.subarray(skip);
    skip = Math.max(0, skip - part.byteLength);
    return left.byteLength > 0 ? [left] : [];
  });
}

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
const headerBytes = 32;

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

/** Parses a header, with the length including the header itself; `undefined` for other bytes. `isIntact` verifies the record. */
function parseHeader(header: Buffer): { readonly page: number; readonly bytes: number } | undefined {
  if (header.length < headerBytes || header.readUInt32LE(0) !== magic) return undefined;
  const length = header.readUInt32LE(8);
  // A wrong length would mislead the reader, and could request as much memory as the file is long.
  if (header.readUInt32LE(12) !== ~length >>> 0) return undefined;
  return { page: header.readUInt32LE(4), bytes: headerBytes + length };
}

function isIntact(record: Buffer, page: number): boolean {
  const found = parseHeader(record);
  if (found?.page !== page || found.bytes !== record.length) return false;
  return sumOf(record, record.subarray(headerBytes)).equals(record.subarray(sumAt, headerBytes));
}

/**
 * Yields the complete records at the head of a log, in order: the page number, and the end offset in bytes. Bodies are not read. Stops
 * before the first record that extends beyond `size`, the end of the file, or has an invalid header.
 */
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

/** Returns whether data is unreadable: a bad sector counts as missing data, a lack of permissions does not. */
export function isLost(thrown: unknown): boolean {
  return errnoOf(thrown) === 'EIO';
}

function unlessLost(thrown: unknown): { readonly bytesRead: number } {
  if (isLost(thrown)) return { bytesRead: 0 };
  throw thrown;
}

/** Reads synchronously: thousands of reads of a few bytes would take twenty times as long asynchronously. */
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
