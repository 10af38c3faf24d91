import { join, resolve } from 'node:path';
import { LeadstreamError } from '../../core/index.js';
import { defaults } from '../../options/index.js';
import { lockOwn, makePrivate, reworded, type Lock } from '../../store/index.js';
import { removeLeftovers, removeSource } from './folder.js';
import { isFresh, readMarker, writeMarker } from './marker.js';
import { PageLog } from './page-log.js';
import { inState } from './place.js';
import { accountKey, nameOf, type SpooledSource } from './source.js';

/** Where pages are spooled and which ones may be used again. */
export interface SpoolOptions {
  /** `<state-dir>/spool`; made when missing, private (0700). Never inside a lake: pages hold everything that the service gave. */
  readonly folder: string;
  readonly source: SpooledSource;
  /** Run that uses the spool. */
  readonly runId: string;
  /** Age from which spooled pages are not used, counted from the start of the first run, in milliseconds. */
  readonly maxAgeMs: number;
  /** Whether spooled pages are thrown away. Default `false`. */
  readonly restart?: boolean;
  /** Whether a page outlives a loss of power when `write` resolves. Default `false`: a torn page is recognised and read again. */
  readonly durable?: boolean;
  /** Bytes of the largest page; a spooled one that claims more is damaged. Default 67,108,864. */
  readonly maxPageBytes?: number | undefined;
  /** Default `Date.now`. */
  readonly now?: () => number;
}

/**
 * Opens the spool of a source for one run, and finds the pages that an interrupted run of the same source left. That
 * it can be written is tried at once. Holds the place of each page in memory, nothing of the contents.
 *
 * @throws {LeadstreamError} `E_RUN_LOCKED` when another run uses it; `E_STATE_FOREIGN` when what is there was not made by leadstream for
 * this user.
 * @throws {SinkError} `E_SINK_PATH` when it cannot be written.
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
      // Always written anew: this is how a full disk is noticed before the first request.
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
 * The spooled pages of one source, which one run at a time may use. Calls for different pages may overlap.
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

  /** Pages of an interrupted run that were found at opening; 0 after `clear`. */
  get resumed(): number {
    return this.#resumed;
  }

  /** Pages at hand; none after `remove`. */
  get pages(): number {
    return this.#removed ? 0 : this.log.count;
  }

  /** Pages found damaged so far; they count as not spooled. */
  get damaged(): number {
    return this.log.damaged;
  }

  /** When the first run that spooled these pages began, ISO 8601. */
  get startedAt(): string {
    return this.#startedAt;
  }

  /** The highest page spooled. */
  last(): number | undefined {
    return this.log.last();
  }

  /** The bytes of a page as they were spooled; `undefined` when it was not spooled, or is damaged and thereby forgotten. */
  async read(page: number): Promise<Uint8Array | undefined> {
    if (!this.#open) throw new LeadstreamError('E_RUN_ABORTED', `page ${page} was asked for after its spool was closed`);
    return inState('E_SINK_WRITE', `cannot read page ${page} in ${this.folder}`, () => this.log.read(page));
  }

  /** Counts a page as damaged that read back as it was spooled, and is nothing that can have been. */
  forget(page: number): void {
    this.log.forget(page);
  }

  /** Writes a page, or replaces it. Once it resolves, the page outlives the process. */
  async write(page: number, body: Uint8Array): Promise<void> {
    if (!this.#open) throw new LeadstreamError('E_RUN_ABORTED', `page ${page} came after its spool was closed`);
    await inState('E_SINK_WRITE', `cannot spool page ${page} in ${this.folder}`, () => this.log.write(page, body));
  }

  /** Throws all pages away and goes on with none, because the list has changed since. */
  async clear(): Promise<void> {
    await inState('E_SINK_WRITE', `cannot clear ${this.folder}`, async () => {
      await this.log.clear();
      this.#resumed = 0;
      this.#startedAt = new Date(this.ages.now()).toISOString();
      await writeMarker(this.folder, { startedAt: this.#startedAt, maxAgeMs: this.ages.maxAgeMs });
    });
  }

  /** Removes the pages after they were published, and ends the use of the spool. */
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

  /** Ends the use of the spool; its pages stay for a resumed run. Never rejects; may be called twice, and after `remove`. */
  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.log.close();
    if (this.log.count === 0) await removeSource(this.folder).catch(() => undefined);
    await this.lock.release();
  }
}

/** Why the spool of a list cannot be had, for somebody who thinks of outputs. */
function lockedFor(collection: string, failure: unknown): unknown {
  if (!(failure instanceof LeadstreamError) || failure.code !== 'E_RUN_LOCKED') return failure;
  const remedy = 'run one after the other, in one command or not, or with a --state-dir of its own, or with spool: off';
  return reworded(failure, `another run with this state folder reads ${collection}, too: ${failure.message}; ${remedy}`);
}
