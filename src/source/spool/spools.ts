import { defer, firstValueFrom, map, of, switchMap, type Observable } from 'rxjs';
import type { Credentials } from '../../http/index.js';
import type { CollectionReader } from '../fetch/reader.js';
import { isRefused } from '../failures.js';
import { isSame, type ListAnswer, type ListRequest } from '../fetch/listing.js';
import { isSequential, type Position } from '../fetch/next-page.js';
import { digestsOf } from '../../vector/index.js';
import { type Row, SourceError } from '../../core/index.js';
import type { Events } from '../../events/index.js';
import { sourceOf } from './source.js';
import { openSpool, type Spool } from './spool.js';

/** Where and how pages are spooled. */
export interface SpoolsOptions {
  /** `<state-dir>/spool`. */
  readonly folder: string;
  readonly runId: string;
  readonly baseUrl: string;
  readonly auth: Credentials;
  readonly firstPage?: number | undefined;
  /** Age from which spooled pages are not used, in milliseconds. */
  readonly maxAgeMs: number;
  /** Maximum size of an answer in bytes. Default: that of the client. */
  readonly maxPageBytes: number | undefined;
  /** Whether pages of an interrupted run are discarded. */
  readonly restart: boolean;
  readonly events: Events;
}

/** The spools of a run: one per collection it reads. */
export interface Spools {
  /**
   * Returns a reader that spools the pages it reads, and reuses those that an interrupted run of the same source spooled, unless the last
   * of them has changed since.
   *
   * @throws {SinkError} `E_SINK_PATH` if pages cannot be spooled; nothing was requested yet.
   * @throws {LeadstreamError} `E_RUN_LOCKED` if another run spools the same source.
   */
  spooled<T extends Row>(reader: CollectionReader<T>): Promise<CollectionReader<T>>;
  /** Number of pages found from interrupted runs. */
  readonly resumed: number;
  /** When the first of the runs whose pages are used started, ISO 8601; `undefined` before anything was opened. */
  readonly startedAt: string | undefined;
  /** Returns the number of pages available to a resumed run, of all collections. */
  pages(): Promise<number>;
  /** Returns the absolute paths of the folders with spooled pages. */
  folders(): Promise<readonly string[]>;
  /** Removes all pages; call it after publishing. */
  remove(): Promise<void>;
  /** Keeps all pages for a resumed run, and closes the spools. */
  close(): Promise<void>;
}

/** Spools nothing: for runs whose output cannot be undone, and if spooling is off. */
export const noSpools: Spools = {
  spooled: (reader) => Promise.resolve(reader),
  resumed: 0,
  startedAt: undefined,
  pages: () => Promise.resolve(0),
  folders: () => Promise.resolve([]),
  remove: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** Opens the spools of a run; each is opened when its collection is first read. */
export function openSpools(options: SpoolsOptions): Spools {
  return new OpenedSpools(options);
}

class OpenedSpools implements Spools {
  readonly #opened = new Map<string, Promise<Spool>>();
  #resumed = 0;
  #startedAt: string | undefined;

  constructor(private readonly options: SpoolsOptions) {}

  get resumed(): number {
    return this.#resumed;
  }

  get startedAt(): string | undefined {
    return this.#startedAt;
  }

  async spooled<T extends Row>(reader: CollectionReader<T>): Promise<CollectionReader<T>> {
    const { name } = reader.collection;
    const spool = this.#opened.get(name) ?? this.#open(reader);
    this.#opened.set(name, spool);
    return spooledReader(reader, await spool);
  }

  async pages(): Promise<number> {
    return (await this.#all()).reduce((sum, { pages }) => sum + pages, 0);
  }

  async folders(): Promise<readonly string[]> {
    return (await this.#all()).map(({ folder }) => folder);
  }

  async remove(): Promise<void> {
    for (const spool of await this.#all()) await spool.remove();
  }

  async close(): Promise<void> {
    for (const spool of await this.#all()) await spool.close();
  }

  async #open<T>(reader: CollectionReader<T>): Promise<Spool> {
    const { folder, runId, maxAgeMs, maxPageBytes, restart } = this.options;
    const source = sourceOf(reader.collection, reader.limit, this.options);
    const spool = await openSpool({ folder, source, runId, maxAgeMs, maxPageBytes, restart });
    try {
      await this.#check(spool, reader);
    } catch (failure) {
      await spool.close();
      throw failure;
    }
    if (this.#startedAt === undefined || spool.startedAt < this.#startedAt) this.#startedAt = spool.startedAt;
    return spool;
  }

  /** Clears a spool whose last page has changed since, which makes it another list. If that page is damaged, the one before it is checked. */
  async #check<T>(spool: Spool, reader: CollectionReader<T>): Promise<void> {
    const last = spool.last();
    if (last === undefined) return;
    const body = await spool.read(last);
    if (body === undefined) return this.#check(spool, reader);
    const what = isSequential(reader.collection.served)
      ? await whatOfChained(reader, spool, last, body)
      : await whatOfNumbered(reader, last, body);
    if (what === undefined) {
      this.#resumed += spool.resumed - spool.damaged;
      return;
    }
    const message = `${reader.collection.name}: page ${last} ${what} since ${spool.startedAt}; all pages are requested again`;
    await spool.clear();
    this.options.events.warn({ code: 'W_SPOOL_STALE', message });
  }

  async #all(): Promise<readonly Spool[]> {
    return (await Promise.allSettled(this.#opened.values())).flatMap((spool) => (spool.status === 'fulfilled' ? [spool.value] : []));
  }
}

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
  const kept = decoded(reader, body);
  if (kept === undefined) return 'is damaged';
  const now = await firstValueFrom(reader.request({ page: last, position: kept.position, purpose: 'probe' })).catch((failure: unknown) => {
    if (isRefused(failure)) return undefined;
    throw failure;
  });
  if (now === undefined) return 'is refused';
  if (digestsOf(now.batch).join() !== digestsOf(kept.batch).join()) return 'has changed';
  if (!isSame(now.next, kept.next)) await spool.write(last, now.body);
  return undefined;
}

/** Decodes a stored page without counting its findings; `undefined` if it is unreadable, and so was never stored this way. */
function decoded<T>(reader: CollectionReader<T>, body: Uint8Array): ListAnswer | undefined {
  try {
    return reader.decode(body, false);
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
    try {
      const answer = reader.decode(body);
      // A page requested at another position has other rows.
      return position === undefined || isSame(answer.position, position) ? answer : undefined;
    } catch (failure) {
      if (!(failure instanceof SourceError)) throw failure;
      spool.forget(page);
      return undefined;
    }
  }

  /** Spools an answer, except an empty page: it ends the list, which every run checks again. */
  async function keep(page: number, answer: ListAnswer): Promise<ListAnswer> {
    if (answer.batch.length > 0) await spool.write(page, answer.body);
    return answer;
  }

  return {
    ...reader,
    request,
    list: (page) => request(reader.collection.paged ? { page } : {}).pipe(map(({ batch }) => batch.rows() as readonly T[])),
  };
}
