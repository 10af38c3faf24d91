import { isDeepStrictEqual } from 'node:util';
import { catchError, switchAll, defer, firstValueFrom, identity, map, of, type Observable } from 'rxjs';
import { inOrder } from '../../flow/index.js';
import { type CollectionReader, type ListAnswer, type ListRequest } from '../fetch/reader.js';
import { unlessRefused } from '../paging.js';
import { digestsOf } from '../../vector/index.js';
import { type Row, SourceError } from '../../core/index.js';
import { undoing } from '../../store/index.js';
import type { Events } from '../../events/index.js';
import { sourceOf, type SourceOptions } from './folder.js';
import { openSpool, type Spool, type SpoolOptions } from './spool.js';

type ServiceOptions = Omit<SourceOptions, 'pipeline'> & Pick<SpoolOptions, 'maxPageBytes'>;

export interface SpoolsOptions extends Omit<SpoolOptions, 'source' | 'now' | 'maxPageBytes'>, Pick<SourceOptions, 'pipeline'> {
  /** Returns how the service of a list is reached. */
  readonly serviceOf: (list: string) => ServiceOptions;
  readonly events: Events;
}

/** The spools of a run: one per collection, opened when that is first read. */
export class Spools {
  readonly #opened = new Map<string, Promise<Spool>>();
  resumed = 0;
  /** Start of the first of the runs whose pages are used, ISO 8601; `undefined` before anything was opened. */
  startedAt: string | undefined;

  /** @param options Default: nothing is spooled. */
  constructor(private readonly options?: SpoolsOptions) {}

  /**
   * Returns a reader that spools its pages, and uses those of an interrupted run of the same source unless the last of them has changed.
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

  async pages(): Promise<number> {
    return (await this.#all()).reduce((sum, { pages }) => sum + pages, 0);
  }

  async folders(): Promise<readonly string[]> {
    return (await this.#all()).map(({ folder }) => folder);
  }

  async remove(): Promise<void> {
    for (const spool of await this.#all()) await spool.remove();
  }

  /** Closes the spools, and keeps their pages. */
  async close(): Promise<void> {
    for (const spool of await this.#all()) await spool.close();
  }

  async #open<T>(reader: CollectionReader<T>, options: SpoolsOptions): Promise<Spool> {
    const { baseUrl, auth, firstPage, maxPageBytes } = options.serviceOf(reader.collection.name);
    const source = sourceOf(reader.collection, reader.limit, { baseUrl, auth, firstPage, pipeline: options.pipeline });
    const spool = await openSpool({ ...options, maxPageBytes, source });
    await this.#check(spool, reader, options).catch(undoing(() => spool.close()));
    if (this.startedAt === undefined || spool.startedAt < this.startedAt) this.startedAt = spool.startedAt;
    return spool;
  }

  /** Clears a spool if its last page has changed, so that it is another list. If that page is damaged, the one before it is checked. */
  async #check<T>(spool: Spool, reader: CollectionReader<T>, options: SpoolsOptions): Promise<void> {
    const last = spool.last();
    if (last === undefined) return;
    const body = await spool.read(last);
    if (body === undefined) return this.#check(spool, reader, options);
    const what = await changeOf(reader, spool, last, body);
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

/** Describes how the last page of a list has changed; `undefined` if it has the same rows. A new pointer to the next page is stored. */
async function changeOf<T>(reader: CollectionReader<T>, spool: Spool, last: number, body: Uint8Array): Promise<string | undefined> {
  const kept = decoded(reader, body, false);
  if (kept === undefined) return 'is damaged';
  const probe = { ...(last === wholeList ? {} : { page: last }), position: kept.position, purpose: 'probe' } as const;
  const now = await firstValueFrom(reader.request(probe).pipe(catchError(unlessRefused)));
  if (now === undefined) return 'is refused';
  if (digestsOf(now.batch).join() !== digestsOf(kept.batch).join()) return 'has changed';
  if (!isDeepStrictEqual(now.next, kept.next)) await spool.write(last, now.body);
  return undefined;
}

function decoded<T>(reader: CollectionReader<T>, body: Uint8Array, counted: boolean): ListAnswer | undefined {
  try {
    return reader.decode(body, counted);
  } catch (failure) {
    if (failure instanceof SourceError) return undefined;
    throw failure;
  }
}

/** Page number for an unpaged list. */
const wholeList = 0;

function spooledReader<T extends Row>(reader: CollectionReader<T>, spool: Spool): CollectionReader<T> {
  function request(wanted: ListRequest): Observable<ListAnswer> {
    const { page = wholeList, position, limit = reader.limit, purpose = 'page', fresh = false, count = 1 } = wanted;
    // Probes must reach the service, and pages of another size are different pages.
    if (purpose === 'probe' || limit !== reader.limit) return reader.request(wanted);
    const stored = async (answer: ListAnswer, index: number) => {
      // An empty page ends the list, which every run checks again.
      if (answer.batch.length > 0) await spool.write(page + index, answer.body);
      return answer;
    };
    return defer(async () => {
      const body = fresh ? undefined : await spool.read(page);
      const kept = body && decoded(reader, body, true);
      if (body && !kept) spool.forget(page);
      // A page requested at another position has other rows.
      if (kept && (position === undefined || isDeepStrictEqual(kept.position, position))) return of(kept);
      // Pages that come together are written together; the failure of one is that of all.
      const noted = (done: Promise<ListAnswer>) => (done.catch(() => undefined), done);
      const stored$ = reader.request({ ...wanted, count: spool.missing(page, count) }).pipe(map((...answer) => noted(stored(...answer))));
      return stored$.pipe(inOrder(identity));
    }).pipe(switchAll());
  }
  return { ...reader, request };
}
