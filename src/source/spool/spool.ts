import { constants, type FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { itemAt, LeadstreamError, newRunId, reasonOf } from '../../core/index.js';
import { defaults } from '../../options/index.js';
import { isLocked, lockSoon, makePrivate, openOwn, reworded, type RunLock } from '../../store/index.js';
import { accountKey, clearSource, inState, isFresh, nameOf, readMarker, removeSource, type SpooledSource, writeMarker } from './folder.js';
import { headerBytes, headerOf, isIntact, logName, recordsIn, unlessLost } from './page-log.js';

export interface SpoolOptions {
  /** `<state-dir>/spool`, private (0700), created if missing. Never inside a lake: pages contain everything that the service sent. */
  readonly folder: string;
  readonly source: SpooledSource;
  readonly runId: string;
  /** Milliseconds after the start of the first run at which spooled pages expire. */
  readonly maxAgeMs: number;
  /** Whether spooled pages are discarded. Default `false`. */
  readonly restart?: boolean;
  /** A run that published what it read since. Pages that were spooled before it began are discarded. */
  readonly after?: string | undefined;
  /** Maximum size of a page in bytes; a spooled one that claims more is damaged. Default 67,108,864. */
  readonly maxPageBytes?: number | undefined;
  readonly now?: () => number;
}

/** Opens the spool of a source for one run, with an interrupted run's pages. @throws {LeadstreamError} `E_RUN_LOCKED`. */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const { source, runId, maxAgeMs, restart = false, after = '', maxPageBytes = defaults.maxPageBytes, now = Date.now } = options;
  const spools = resolve(options.folder);
  return inState('E_SINK_PATH', `cannot spool pages in ${spools}`, async () => {
    await makePrivate(spools);
    const folder = join(spools, nameOf(source, await accountKey(spools)));
    // A run that begins removes old pages, and has the lock meanwhile.
    const lock = await lockSoon(folder, runId, 1_000).catch((failure: unknown) => {
      throw lockedFor(source.collection.name, failure);
    });
    let log: FileHandle | undefined;
    try {
      await makePrivate(folder);
      const found = await readMarker(folder);
      // Run ids sort by time.
      const usable = !restart && isFresh(found, now(), maxAgeMs) && newRunId(found?.startedAt) > after;
      await clearSource(folder, usable);
      log = await openOwn(join(folder, logName), constants.O_RDWR | constants.O_CREAT | constants.O_APPEND);
      const spool = new Spool(folder, log, lock, { maxAgeMs, maxPageBytes, now });
      await spool.begin(usable ? found?.startedAt : undefined);
      return spool;
    } catch (failure) {
      await log?.close().catch(() => undefined);
      await lock.release();
      throw failure;
    }
  });
}

/** Explains why the spool of a list is unavailable, to users who think of outputs. */
function lockedFor(collection: string, failure: unknown): unknown {
  if (!isLocked(failure)) return failure;
  const remedy = 'run them one after the other (in one command or separately), or give each its own --state-dir, or set spool: off';
  return reworded(failure, `another run with this state folder reads ${collection}, too: ${reasonOf(failure)}; ${remedy}`);
}

interface Entry {
  readonly page: number;
  readonly parts: readonly Uint8Array[];
}

/**
 * The spooled pages of one source, for one run at a time: a log of records in the order of spooling, of which the last of a page counts.
 * Pages that arrive during a write are written together. Memory: about 50 bytes per page. All methods can throw `SinkError` `E_SINK_WRITE`,
 * naming the folder and `--state-dir`.
 */
export class Spool {
  /** Start of the first run that spooled these pages, ISO 8601. */
  startedAt = '';
  /** Pages of an interrupted run found when opening; 0 after `clear`. */
  resumed = 0;
  /** Pages found damaged so far, which count as not spooled. */
  damaged = 0;
  #open = true;
  /** The current record of each page. Record `i` spans `#bounds[i]` to `#bounds[i + 1]`; a replaced one keeps its place. */
  readonly #records = new Map<number, number>();
  readonly #bounds = [0];
  #next: { readonly entries: Entry[]; readonly stored: Promise<void> } | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  /** Whether a partial record may follow the last one. */
  #torn = false;

  constructor(
    readonly folder: string,
    private readonly log: FileHandle,
    private readonly lock: RunLock,
    private readonly options: { readonly maxAgeMs: number; readonly maxPageBytes: number; readonly now: () => number },
  ) {}

  /** Finds the pages in the log by their headers, and truncates a killed process's half-written record. */
  async begin(startedAt: string | undefined): Promise<void> {
    const { size } = await this.log.stat();
    for (const { page, end } of recordsIn(this.log.fd, size)) {
      this.#add(page, end);
      // Lets signals and timers run.
      if (this.#bounds.length % 1_000 === 0) await setImmediate();
    }
    if (size > this.#end) await this.log.truncate(this.#end);
    this.resumed = this.pages;
    // Always rewritten, to detect a full disk before the first request.
    await this.#mark(this.pages > 0 ? startedAt : undefined);
  }

  get pages(): number {
    return this.#records.size;
  }

  last(): number | undefined {
    let last: number | undefined;
    for (const page of this.#records.keys()) if (last === undefined || page > last) last = page;
    return last;
  }

  /** Returns the spooled bytes of a page; `undefined` if it was not spooled, or is damaged and therefore dropped. */
  async read(page: number): Promise<Uint8Array | undefined> {
    if (!this.#open) throw new LeadstreamError('E_RUN_ABORTED', `page ${page} was requested after its spool was closed`);
    return inState('E_SINK_WRITE', `cannot read page ${page} in ${this.folder}`, async () => {
      const index = this.#records.get(page);
      if (index === undefined) return undefined;
      const from = itemAt(this.#bounds, index);
      const bytes = itemAt(this.#bounds, index + 1) - from;
      if (bytes > Math.min(headerBytes + this.options.maxPageBytes, largestRead)) return this.forget(page);
      const record = Buffer.allocUnsafe(bytes);
      const { bytesRead } = await this.log.read(record, 0, bytes, from).catch(unlessLost);
      if (isIntact(record.subarray(0, bytesRead), page)) return record.subarray(headerBytes);
      return this.#records.get(page) === index ? this.forget(page) : undefined;
    });
  }

  /** Counts a page as damaged, because its content cannot be what was stored. */
  forget(page: number): undefined {
    if (this.#records.delete(page)) this.damaged += 1;
  }

  /** Returns how many pages from one on are not spooled, not counting that one. */
  missing(page: number, most: number): number {
    let count = 1;
    while (count < most && !this.#records.has(page + count)) count += 1;
    return count;
  }

  /** Writes or replaces a page, which survives the process when this resolves; until then `body` must not change. */
  async write(page: number, body: Uint8Array): Promise<void> {
    if (!this.#open) throw new LeadstreamError('E_RUN_ABORTED', `page ${page} came after its spool was closed`);
    const parts = [headerOf(page, body), body];
    if (this.#next === undefined) {
      const entries: Entry[] = [];
      this.#next = { entries, stored: this.#inTurn(() => this.#append(entries)) };
    }
    const { entries, stored } = this.#next;
    entries.push({ page, parts });
    await inState('E_SINK_WRITE', `cannot spool page ${page} in ${this.folder}`, () => stored);
  }

  async clear(): Promise<void> {
    this.#next = undefined;
    await inState('E_SINK_WRITE', `cannot clear ${this.folder}`, async () => {
      await this.#inTurn(async () => {
        await this.log.truncate(0);
        this.#records.clear();
        this.#bounds.length = 1;
        this.#torn = false;
      });
      this.resumed = 0;
      await this.#mark();
    });
  }

  /** Removes the published pages, and closes the spool. */
  async remove(): Promise<void> {
    if (!(await this.#close())) return;
    this.#records.clear();
    try {
      await inState('E_SINK_WRITE', `cannot remove ${this.folder}`, () => removeSource(this.folder));
    } finally {
      await this.lock.release();
    }
  }

  /** Closes the spool, and keeps its pages. Never rejects; may be called twice, and after `remove`. */
  async close(): Promise<void> {
    if (!(await this.#close())) return;
    if (this.pages === 0) await removeSource(this.folder).catch(() => undefined);
    await this.lock.release();
  }

  /** Closes the log after the last write and read. @returns `false` if it already was. */
  async #close(): Promise<boolean> {
    if (!this.#open) return false;
    this.#open = false;
    await this.#inTurn(() => this.log.close()).catch(() => undefined);
    return true;
  }

  async #mark(startedAt = new Date(this.options.now()).toISOString()): Promise<void> {
    this.startedAt = startedAt;
    await writeMarker(this.folder, { startedAt, maxAgeMs: this.options.maxAgeMs });
  }

  async #append(entries: readonly Entry[]): Promise<void> {
    this.#next = undefined;
    if (this.#torn) await this.log.truncate(this.#end);
    this.#torn = true;
    const all = entries.flatMap(({ parts }) => parts);
    const { bytesWritten } = await this.log.writev(all);
    // The system may write less than it was given, usually when a disk is almost full.
    if (bytesWritten < bytesOf(all)) await this.log.appendFile(Buffer.concat(all).subarray(bytesWritten));
    this.#torn = false;
    for (const { page, parts } of entries) this.#add(page, this.#end + bytesOf(parts));
  }

  get #end(): number {
    return itemAt(this.#bounds, this.#bounds.length - 1);
  }

  #add(page: number, end: number): void {
    this.#records.set(page, this.#bounds.length - 1);
    this.#bounds.push(end);
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}

function bytesOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((bytes, part) => bytes + part.byteLength, 0);
}

/** The most that Node can read in one call; beyond it, the process crashes. */
const largestRead = 2 ** 31 - 1;
