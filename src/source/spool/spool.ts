import { join, resolve } from 'node:path';
import { LeadstreamError } from '../../core/index.js';
import { defaults } from '../../options/index.js';
import { lockOwn, makePrivate, reworded, type Lock } from '../../store/index.js';
import { removeLeftovers, removeSource, inState, isFresh, readMarker, writeMarker } from './folder.js';
import { PageLog } from './page-log.js';
import { accountKey, nameOf, type SpooledSource } from './source.js';

/** Where pages are spooled and which ones may be reused. */
export interface SpoolOptions {
  /** `<state-dir>/spool`; created if missing, private (0700). Never inside a lake: pages contain everything that the service sent. */
  readonly folder: string;
  readonly source: SpooledSource;
  /** Run that uses the spool. */
  readonly runId: string;
  /** Age from which spooled pages are not used, counted from the start of the first run, in milliseconds. */
  readonly maxAgeMs: number;
  /** Whether spooled pages are discarded. Default `false`. */
  readonly restart?: boolean;
  /** Whether a page survives a power failure once `write` resolves. Default `false`: a torn page is detected and read again. */
  readonly durable?: boolean;
  /** Maximum size of a page in bytes; a spooled one that claims more is damaged. Default 67,108,864. */
  readonly maxPageBytes?: number | undefined;
  /** Default `Date.now`. */
  readonly now?: () => number;
}

/**
 * Opens the spool of a source for one run, and finds the pages that an interrupted run of the same source left. It verifies immediately
 * that the spool is writable. Only the place of each page is kept in memory, not its contents.
 *
 * @throws {LeadstreamError} `E_RUN_LOCKED` if another run uses it; `E_STATE_FOREIGN` if existing files were not created by leadstream for this user.
 * @throws {SinkError} `E_SINK_PATH` if it is not writable.
 */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const { source, runId, maxAgeMs, restart = false, durable = false, maxPageBytes = defaults.maxBodyBytes, now = Date.now } = options;
  const spools = resolve(options.folder);
  return inState('E_SINK_PATH', `cannot spool pages in ${spools}`, async () => {
    await makePrivate(spools);
    const folder = join(spools, nameOf(source, await accountKey(spools)));
    const lock = await lockOwn(folder, { runId }).catch((failure: unknown) => {
      throw lockedFor(source.collection.name, failure);
    });
    let log: PageLog | undefined;
    try {
      await makePrivate(folder);
      const found = await readMarker(folder);
      const usable = !restart && isFresh(found, now(), maxAgeMs);
      if (!usable) await removeSource(folder);
      await makePrivate(folder);
      await removeLeftovers(folder);
      log = await PageLog.open(folder, durable, maxPageBytes);
      const startedAt = usable && found && log.count > 0 ? found.startedAt : new Date(now()).toISOString();
      // Always rewritten, which detects a full disk before the first request.
      await writeMarker(folder, { startedAt, maxAgeMs });
      return new Spool(folder, log, lock, { startedAt, maxAgeMs, now });
    } catch (failure) {
      await log?.close();
      await lock.release();
      throw failure;
    }
  });
}

/**
 * The spooled pages of one source, for one run at a time. Calls for different pages may overlap.
 *
 * Every method can throw `SinkError` `E_SINK_WRITE`, naming the folder and `--state-dir`.
 */
export class Spool {
  #startedAt: string;
  #resumed: number;
  #open = true;
  #removed = false;

  /** Use `openSpool`. */
  constructor(
    /** Absolute path. */
    readonly folder: string,
    private readonly log: PageLog,
    private readonly lock: Lock,
    private readonly ages: { readonly startedAt: string; readonly maxAgeMs: number; readonly now: () => number },
  ) {
    this.#startedAt = ages.startedAt;
    this.#resumed = log.count;
  }

  /** Number of pages of an interrupted run found when opening; 0 after `clear`. */
  get resumed(): number {
    return this.#resumed;
  }

  /** Number of available pages; 0 after `remove`. */
  get pages(): number {
    return this.#removed ? 0 : this.log.count;
  }

  /** Number of pages found damaged so far; they count as not spooled. */
  get damaged(): number {
    return this.log.damaged;
  }

  /** When the first run that spooled these pages started, ISO 8601. */
  get startedAt(): string {
    return this.#startedAt;
  }

  /** Returns the highest page spooled. */
  last(): number | undefined {
    return this.log.last();
  }

  /** Returns the bytes of a page as spooled; `undefined` if it was not spooled, or is damaged and therefore dropped. */
  async read(page: number): Promise<Uint8Array | undefined> {
    if (!this.#open) throw new LeadstreamError('E_RUN_ABORTED', `page ${page} was requested after its spool was closed`);
    return inState('E_SINK_WRITE', `cannot read page ${page} in ${this.folder}`, () => this.log.read(page));
  }

  /** Counts a page as damaged that read back as stored, but cannot be a valid page. */
  forget(page: number): void {
    this.log.forget(page);
  }

  /** Writes a page, or replaces it. Once it resolves, the page survives the process. */
  async write(page: number, body: Uint8Array): Promise<void> {
    if (!this.#open) throw new LeadstreamError('E_RUN_ABORTED', `page ${page} came after its spool was closed`);
    await inState('E_SINK_WRITE', `cannot spool page ${page} in ${this.folder}`, () => this.log.write(page, body));
  }

  /** Discards all pages and continues with none, because the list has changed since. */
  async clear(): Promise<void> {
    await inState('E_SINK_WRITE', `cannot clear ${this.folder}`, async () => {
      await this.log.clear();
      this.#resumed = 0;
      this.#startedAt = new Date(this.ages.now()).toISOString();
      await writeMarker(this.folder, { startedAt: this.#startedAt, maxAgeMs: this.ages.maxAgeMs });
    });
  }

  /** Removes the pages after they were published, and closes the spool. */
  async remove(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#removed = true;
    try {
      await this.log.close();
      await inState('E_SINK_WRITE', `cannot remove ${this.folder}`, () => removeSource(this.folder));
    } finally {
      await this.lock.release();
    }
  }

  /** Closes the spool; its pages are kept for a resumed run. Never rejects; may be called twice, and after `remove`. */
  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.log.close();
    if (this.log.count === 0) await removeSource(this.folder).catch(() => undefined);
    await this.lock.release();
  }
}

/** Explains why the spool of a list is unavailable, for users who think of outputs. */
function lockedFor(collection: string, failure: unknown): unknown {
  if (!(failure instanceof LeadstreamError) || failure.code !== 'E_RUN_LOCKED') return failure;
  const remedy = 'run them one after the other (in one command or separately), or give each its own --state-dir, or set spool: off';
  return reworded(failure, `another run with this state folder reads ${collection}, too: ${failure.message}; ${remedy}`);
}
