import { defer, firstValueFrom, map, of, switchMap, type Observable } from 'rxjs';
import type { Credentials } from '../../http/index.js';
import type { CollectionReader } from '../fetch/reader.js';
import { isRefused } from '../failures.js';
import { isSame } from '../fetch/envelope.js';
import type { ListAnswer, ListRequest } from '../fetch/listing.js';
import { isSequential, type Position } from '../fetch/position.js';
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
  /** Bytes of the largest answer. Default: that of the client. */
  readonly maxPageBytes: number | undefined;
  /** Whether pages of an interrupted run are thrown away. */
  readonly restart: boolean;
  readonly events: Events;
}

/** The spools of a run: one per collection that it reads. */
export interface Spools {
  /**
   * The same reader, which spools the pages that it reads and takes those from disk that an interrupted run of the same source
   * has spooled, unless the last one of them has changed since.
   *
   * @throws {SinkError} `E_SINK_PATH` when pages cannot be spooled; nothing was requested yet.
   * @throws {LeadstreamError} `E_RUN_LOCKED` when another run spools the same source.
   */
  spooled<T extends Row>(reader: CollectionReader<T>): Promise<CollectionReader<T>>;
  /** Pages of interrupted runs that were found. */
  readonly resumed: number;
  /** When the first of the runs began whose pages are used, ISO 8601; `undefined` before anything was opened. */
  readonly startedAt: string | undefined;
  /** Pages that are at hand for a resumed run, of all collections. */
  pages(): Promise<number>;
  /** Where pages were spooled. Absolute paths. */
  folders(): Promise<readonly string[]>;
  /** Removes all pages; for after the publication. */
  remove(): Promise<void>;
  /** Keeps all pages for a resumed run. */
  close(): Promise<void>;
}

/** Nothing is spooled: for runs whose output nobody could take back, and for those that were told so. */
export const noSpools: Spools = {
  spooled: (reader) => Promise.resolve(reader),
  resumed: 0,
  startedAt: undefined,
  pages: () => Promise.resolve(0),
  folders: () => Promise.resolve([]),
  remove: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** The spools of a run; each is opened when its collection is first read. */
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

  /** A list whose last spooled page looks different now is another list. A damaged page is none: the one before it is looked at. */
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

/** What became of the last page that has a number. */
async function whatOfNumbered<T>(reader: CollectionReader<T>, last: number, body: Uint8Array): Promise<string | undefined> {
  const now = await firstValueFrom(reader.request({ ...(last === wholeList ? {} : { page: last }), purpose: 'probe' }));
  return Buffer.compare(now.body, body) === 0 ? undefined : 'has changed';
}

/**
 * What became of the last page of a list without numbers. Where the same rows name the next page in other words, as by a cursor that grows
 * old, these are kept.
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

/** A page that was kept, without its findings; `undefined` for what cannot be read, which was never kept so. */
function decoded<T>(reader: CollectionReader<T>, body: Uint8Array): ListAnswer | undefined {
  try {
    return reader.decode(body, false);
  } catch (failure) {
    if (failure instanceof SourceError) return undefined;
    throw failure;
  }
}

/** Number under which a list without pages is spooled. */
const wholeList = 0;

function spooledReader<T extends Row>(reader: CollectionReader<T>, spool: Spool): CollectionReader<T> {
  function request(asked: ListRequest): Observable<ListAnswer> {
    const { page = wholeList, limit = reader.limit, purpose = 'page', fresh = false } = asked;
    // Probes have to ask the service, and pages of another size are other pages.
    if (purpose === 'probe' || limit !== reader.limit) return reader.request(asked);
    return defer(() => (fresh ? Promise.resolve(undefined) : spooledAnswer(page, asked.position))).pipe(
      switchMap((answer) => (answer ? of(answer) : reader.request(asked).pipe(switchMap((answer) => keep(page, answer))))),
    );
  }

  /** What cannot be read was never spooled, since only answers are that could be. */
  async function spooledAnswer(page: number, position: Position | undefined): Promise<ListAnswer | undefined> {
    const body = await spool.read(page);
    if (body === undefined) return undefined;
    try {
      const answer = reader.decode(body);
      // A page that was asked for elsewhere has other rows.
      return position === undefined || isSame(answer.position, position) ? answer : undefined;
    } catch (failure) {
      if (!(failure instanceof SourceError)) throw failure;
      spool.forget(page);
      return undefined;
    }
  }

  /** An empty page ends the list, and that is asked again by every run. */
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
