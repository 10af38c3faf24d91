import { constants, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { itemAt } from '../../core/index.js';
import { openOwn, syncFolder } from '../../store/index.js';
import { headerBytes, headerOf, isIntact, isLost, recordsIn } from './record.js';

/** Name of the file in the folder of a source that holds its pages. */
export const logName = 'pages.log';

/**
 * The pages of one source: one file, in which record follows record in the order of spool. Of several records of a page the last one counts.
 * Holds some 50 bytes per page.
 *
 * Pages that come while others are being written go out together, in one write. One process at a time.
 *
 * Errors are those of the system; `Spool` gives them words.
 */
export class PageLog {
  #damaged = 0;
  /** Index of the record of each page. */
  readonly #records = new Map<number, number>();
  /** Record `i` lies from `#bounds[i]` to `#bounds[i + 1]`. A record that was replaced keeps its place. */
  readonly #bounds = [0];
  /** The pages that go out together when it is their turn. */
  #next: { readonly entries: Entry[]; readonly stored: Promise<void> } | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  /** Whether there may be a part of a record behind the last one. */
  #torn = false;

  private constructor(
    private readonly handle: FileHandle,
    private readonly durable: boolean,
    private readonly maxBytes: number,
  ) {}

  /**
   * Opens the log of a folder, made when missing, and cuts off what a killed process left half-written: never off a file that another
   * name or a link leads to. Reads headers, no bodies. A page of more than `maxPageBytes` is as good as damaged.
   */
  static async open(folder: string, durable: boolean, maxPageBytes: number): Promise<PageLog> {
    const handle = await openOwn(join(folder, logName), flags);
    try {
      if (durable) await syncFolder(folder);
      const log = new PageLog(handle, durable, Math.min(headerBytes + maxPageBytes, largestRead));
      const { size } = await handle.stat();
      for (const { page, end } of recordsIn(handle.fd, size)) {
        log.#add(page, end);
        // Signals and timers have their turn.
        if (log.#bounds.length % 1_000 === 0) await setImmediate();
      }
      if (size > log.#end) await handle.truncate(log.#end);
      return log;
    } catch (failure) {
      await handle.close();
      throw failure;
    }
  }

  /** Pages at hand. */
  get count(): number {
    return this.#records.size;
  }

  /** Pages that did not read back as they were written, and were forgotten. */
  get damaged(): number {
    return this.#damaged;
  }

  /** The highest page number at hand. */
  last(): number | undefined {
    let last: number | undefined;
    for (const page of this.#records.keys()) if (last === undefined || page > last) last = page;
    return last;
  }

  /** The contents of a page; `undefined` when it is not at hand, or was damaged. */
  async read(page: number): Promise<Uint8Array | undefined> {
    const index = this.#records.get(page);
    if (index === undefined) return undefined;
    const from = itemAt(this.#bounds, index);
    const bytes = itemAt(this.#bounds, index + 1) - from;
    if (bytes > this.maxBytes) return this.forget(page);
    const record = Buffer.allocUnsafe(bytes);
    const { bytesRead } = await this.handle.read(record, 0, record.length, from).catch((thrown: unknown) => {
      if (isLost(thrown)) return { bytesRead: 0 };
      throw thrown;
    });
    if (isIntact(record.subarray(0, bytesRead), page)) return record.subarray(headerBytes);
    return this.#records.get(page) === index ? this.forget(page) : undefined;
  }

  /** Counts a page as damaged, because what it holds cannot be what was stored. */
  forget(page: number): undefined {
    if (this.#records.delete(page)) this.#damaged += 1;
  }

  /**
   * Stores a page, in the place of an earlier one of that number. Resolves when the system has taken the bytes; `body` stays as it is until then.
   * After a failure the pages that were to go out together are not stored, and the log goes on behind the ones before them.
   */
  write(page: number, body: Uint8Array): Promise<void> {
    const header = headerOf(page, body);
    if (this.#next === undefined) {
      const entries: Entry[] = [];
      this.#next = { entries, stored: this.#inTurn(() => this.#append(entries)) };
    }
    this.#next.entries.push({ page, header, body });
    return this.#next.stored;
  }

  /** Removes all pages, and not those that are stored from now on. */
  clear(): Promise<void> {
    this.#next = undefined;
    return this.#inTurn(async () => {
      await this.handle.truncate(0);
      this.#records.clear();
      this.#bounds.length = 1;
      this.#torn = false;
    });
  }

  /** Closes the file, behind the last write and read. Never rejects. */
  async close(): Promise<void> {
    await this.#inTurn(() => this.handle.close()).catch(() => undefined);
  }

  async #append(entries: readonly Entry[]): Promise<void> {
    this.#next = undefined;
    if (this.#torn) await this.handle.truncate(this.#end);
    this.#torn = true;
    await writeAll(
      this.handle,
      entries.flatMap(({ header, body }) => [header, body]),
      this.#end,
    );
    if (this.durable) await this.handle.datasync();
    this.#torn = false;
    for (const { page, body } of entries) this.#add(page, this.#end + headerBytes + body.byteLength);
  }

  get #end(): number {
    return itemAt(this.#bounds, this.#bounds.length - 1);
  }

  #add(page: number, end: number): void {
    this.#records.set(page, this.#bounds.length - 1);
    this.#bounds.push(end);
  }

  /** One after the other, whatever became of the one before. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}

interface Entry {
  readonly page: number;
  readonly header: Uint8Array;
  readonly body: Uint8Array;
}

/** The most that Node reads in one call; beyond it the process ends. */
const largestRead = 2 ** 31 - 1;

const flags = constants.O_RDWR | constants.O_CREAT;

/** The system may take less than it was given, most often in front of a full disk. */
async function writeAll(handle: FileHandle, parts: readonly Uint8Array[], position: number): Promise<void> {
  let [rest, at] = [parts, position];
  while (rest.length > 0) {
    const { bytesWritten } = await handle.writev(rest, at);
    rest = behind(rest, bytesWritten);
    at += bytesWritten;
  }
}

/** What is left of parts behind their first bytes. */
function behind(parts: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let skip = bytes;
  return parts.flatMap((part) => {
    const left = part.subarray(skip);
    skip = Math.max(0, skip - part.byteLength);
    return left.byteLength > 0 ? [left] : [];
  });
}
