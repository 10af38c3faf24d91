import { join, resolve } from 'node:path';
import { catchError, defer, firstValueFrom, of, switchMap, type Observable } from 'rxjs';
import { type CollectionReader, isSame, type ListAnswer, type ListRequest } from '../fetch/reader.js';
import { unlessRefused } from '../paging.js';
import { isSequential, type Position } from '../fetch/request.js';
import { digestsOf } from '../../vector/index.js';
import { type Row, SourceError, LeadstreamError } from '../../core/index.js';
import type { Events } from '../../events/index.js';
import {
  sourceOf,
  removeLeftovers,
  removeSource,
  inState,
  isFresh,
  readMarker,
  writeMarker,
  accountKey,
  nameOf,
  type SourceOptions,
  type SpooledSource,
} from './folder.js';
import { defaults } from '../../options/index.js';
import { lockOwn, makePrivate, reworded, type Lock } from '../../store/index.js';
import { PageLog } from './page-log.js';

/** Where and how pages are spooled, and the service that they are from. */
export interface SpoolsOptions extends Omit<SpoolOptions, 'source' | 'now'>, SourceOptions {
  readonly events: Events;
}

/** The spools of a run: one per collection it reads, opened when that is first read. */
export class Spools {
  readonly #opened = new Map<string, Promise<Spool>>();
  /** Number of pages found from interrupted runs. */
  resumed = 0;
  /** When the first of the runs whose pages are used started, ISO 8601; `undefined` before anything was opened. */
  startedAt: string | undefined;

  /** @param options Default: nothing is spooled. */
  constructor(private readonly options?: SpoolsOptions) {}

  /**
   * Returns a reader that spools the pages it reads, and reuses those that an interrupted run of the same source spooled, unless the last
   * of them has changed since.
   *
   * @throws {SinkError} `E_SINK_PATH` if pages cannot be spooled; nothing was requested yet.
   * @throws {LeadstreamError} `E_RUN_LOCKED` if another run spools the same source.
   */
  async spooled<T extends Row>(reader: CollectionReader<T>): Promise<CollectionReader<T>> {
    if (!this.options) return reader;
    const { name } = reader.collection;
    const spool = this.#opened.get(name) ?? this.#open(reader, this.options);
    this.#opened.set(name, spool);
    return spooledReader(reader, await spool);
  }

  /** Returns the number of pages available to a resumed run, of all collections. */
  async pages(): Promise<number> {
    return (await this.#all()).reduce((sum, { pages }) => sum + pages, 0);
  }

  /** Returns the absolute paths of the folders with spooled pages. */
  async folders(): Promise<readonly string[]> {
    return (await this.#all()).map(({ folder }) => folder);
  }

  /** Removes all pages; call it after publishing. */
  async remove(): Promise<void> {
    for (const spool of await this.#all()) await spool.remove();
  }

  /** Keeps all pages for a resumed run, and closes the spools. */
  async close(): Promise<void> {
    for (const spool of await this.#all()) await spool.close();
  }

  async #open<T>(reader: CollectionReader<T>, options: SpoolsOptions): Promise<Spool> {
    const spool = await openSpool({ ...options, source: sourceOf(reader.collection, reader.limit, options) });
    try {
      await this.#check(spool, reader, options);
    } catch (failure) {
      await spool.close();
      throw failure;
    }
    if (this.startedAt === undefined || spool.startedAt < this.startedAt) this.startedAt = spool.startedAt;
    return spool;
  }

  /** Clears a spool whose last page has changed since, which makes it another list. If that page is damaged, the one before it is checked. */
  async #check<T>(spool: Spool, reader: CollectionReader<T>, options: SpoolsOptions): Promise<void> {
    const last = spool.last();
    if (last === undefined) return;
    const body = await spool.read(last);
    if (body === undefined) return this.#check(spool, reader, options);
    const what = isSequential(reader.collection.served)
      ? await whatOfChained(reader, spool, last, body)
      : await whatOfNumbered(reader, last, body);
    if (what === undefined) {
      this.resumed += spool.resumed - spool.damaged;
      return;
    }
    const message = `${reader.collection.name}: page ${last} ${what} since ${spool.startedAt}; all pages are requested again`;
    await spool.clear();
    options.events.warn({ code: 'W_SPOOL_STALE', message });
  }

  async #all(): Promise<readonly Spool[]> {
    return (await Promise.allSettled(this.#opened.values())).flatMap((spool) => (spool.status === 'fulfilled' ? [spool.value] : []));
  }
}

/** Spools nothing: for runs whose output cannot be undone, and if spooling is off. */
export const noSpools = new Spools();

/** Describes what changed in the last page of a list with page numbers; `undefined` if nothing did. */
async function whatOfNumbered<T>(reader: CollectionReader<T>, last: number, body: Uint8Array): Promise<string | undefined> {
  const now = await firstValueFrom(reader.request({ ...(last === wholeList ? {} : { page: last }), purpose: 'probe' }));
  return Buffer.compare(now.body, body) === 0 ? undefined : 'has changed';
}

/**
 * Describes what changed in the last page of a list without page numbers; `undefined` if nothing did. If the same rows now have another
 * pointer to the next page, such as a cursor that expires, that pointer is stored.
 */
async function whatOfChained<T>(reader: CollectionReader<T>, spool: Spool, last: number, body: Uint8Array): Promise<string | undefined> {
  const kept = decoded(reader, body, false);
  if (kept === undefined) return 'is damaged';
  const now$ = reader.request({ page: last, position: kept.position, purpose: 'probe' }).pipe(catchError(unlessRefused));
  const now = await firstValueFrom(now$);
  if (now === undefined) return 'is refused';
  if (digestsOf(now.batch).join() !== digestsOf(kept.batch).join()) return 'has changed';
  if (!isSame(now.following, kept.following)) await spool.write(last, now.body);
  return undefined;
}

/** Decodes a stored page; `undefined` if it is unreadable, and so was never stored this way. */
function decoded<T>(reader: CollectionReader<T>, body: Uint8Array, counted: boolean): ListAnswer | undefined {
  try {
    return reader.decode(body, counted);
  } catch (failure) {
    if (failure instanceof SourceError) return undefined;
    throw failure;
  }
}

/** Page number for spooling a list without pages. */
const wholeList = 0;

function spooledReader<T extends Row>(reader: CollectionReader<T>, spool: Spool): CollectionReader<T> {
  function request(asked: ListRequest): Observable<ListAnswer> {
    const { page = wholeList, limit = reader.limit, purpose = 'page', fresh = false } = asked;
    // Probes must reach the service, and pages of another size are different pages.
    if (purpose === 'probe' || limit !== reader.limit) return reader.request(asked);
    return defer(() => (fresh ? Promise.resolve(undefined) : spooledAnswer(page, asked.position))).pipe(
      switchMap((answer) => (answer ? of(answer) : reader.request(asked).pipe(switchMap((answer) => keep(page, answer))))),
    );
  }

  /** Returns a spooled answer. An unreadable one is dropped, since only readable answers are spooled. */
  async function spooledAnswer(page: number, position: Position | undefined): Promise<ListAnswer | undefined> {
    const body = await spool.read(page);
    if (body === undefined) return undefined;
    const answer = decoded(reader, body, true);
    if (answer === undefined) return spool.forget(page);
    // A page requested at another position has other rows.
    return position === undefined || isSame(answer.position, position) ? answer : undefined;
  }

  /** Spools an answer, except an empty page: it ends the list, which every run checks again. */
  async function keep(page: number, answer: ListAnswer): Promise<ListAnswer> {
    if (answer.batch.length > 0) await spool.write(page, answer.body);
    return answer;
  }

  return { ...reader, request };
}

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
  const { source, runId, maxAgeMs, restart = false, maxPageBytes = defaults.maxPageBytes, now = Date.now } = options;
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
      log = await PageLog.open(folder, maxPageBytes);
      const startedAt = usable && found && log.count > 0 ? found.startedAt : new Date(now()).toISOString();
      // Always rewritten, which detects a full disk before the first request.
      await writeMarker(folder, { startedAt, maxAgeMs });
      return new Spool(folder, log, lock, startedAt, () => ({ startedAt: new Date(now()).toISOString(), maxAgeMs }));
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
  /** Number of pages of an interrupted run found when opening; 0 after `clear`. */
  resumed: number;
  #open = true;
  #removed = false;

  /**
   * Use `openSpool`.
   *
   * @param startedAt When the first run that spooled these pages started, ISO 8601.
   * @param restarted Creates the marker of a spool that begins now.
   */
  constructor(
    readonly folder: string,
    private readonly log: PageLog,
    private readonly lock: Lock,
    public startedAt: string,
    private readonly restarted: () => { readonly startedAt: string; readonly maxAgeMs: number },
  ) {
    this.resumed = log.count;
  }

  /** Number of available pages; 0 after `remove`. */
  get pages(): number {
    return this.#removed ? 0 : this.log.count;
  }

  /** Number of pages found damaged so far; they count as not spooled. */
  get damaged(): number {
    return this.log.damaged;
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
  forget(page: number): undefined {
    return this.log.forget(page);
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
      const marker = this.restarted();
      this.resumed = 0;
      this.startedAt = marker.startedAt;
      await writeMarker(this.folder, marker);
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
