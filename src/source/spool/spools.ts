import { defer, firstValueFrom, map, of, switchMap, type Observable } from 'rxjs';
import { queryOf, type Credentials } from '../../http/index.js';
import type { CollectionReader, ListAnswer, ListRequest } from '../fetch/client.js';
import type { CollectionName } from '../../collections/index.js';
import { type Row, SourceError, type Warning } from '../../core/index.js';
import { openLanding, type Landing } from './spool.js';

/** Where and how pages land. */
export interface LandingsOptions {
  /** `<state-dir>/landing`. */
  readonly folder: string;
  readonly runId: string;
  readonly baseUrl: string;
  readonly auth: Credentials;
  readonly firstPage: number;
  /** Age from which landed pages are not used, in milliseconds. */
  readonly maxAgeMs: number;
  /** Bytes of the largest answer. Default: that of the client. */
  readonly maxPageBytes: number | undefined;
  /** Whether pages of an interrupted run are thrown away. */
  readonly restart: boolean;
  readonly onWarning: (warning: Warning) => void;
}

/** The landings of a run: one per collection that it reads. */
export interface Landings {
  /**
   * The same reader, which lands the pages that it reads and takes those from disk that an interrupted run of the same source
   * has landed, unless the last one of them has changed since.
   *
   * @throws {SinkError} `E_SINK_PATH` when pages cannot land; nothing was requested yet.
   * @throws {LeadstreamError} `E_RUN_LOCKED` when another run lands the same source.
   */
  landed<T extends Row>(reader: CollectionReader<T>): Promise<CollectionReader<T>>;
  /** Pages of interrupted runs that were found. */
  readonly resumed: number;
  /** When the first of the runs began whose pages are used, ISO 8601; `undefined` before anything was opened. */
  readonly startedAt: string | undefined;
  /** Where pages were landed. Absolute paths. */
  folders(): Promise<readonly string[]>;
  /** Removes all pages; for after the publication. */
  remove(): Promise<void>;
  /** Keeps all pages for a resumed run. */
  close(): Promise<void>;
}

/** Nothing lands: for runs whose output nobody could take back, and for those that were told so. */
export const noLandings: Landings = {
  landed: (reader) => Promise.resolve(reader),
  resumed: 0,
  startedAt: undefined,
  folders: () => Promise.resolve([]),
  remove: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** The landings of a run; each is opened when its collection is first read. */
export function openLandings(options: LandingsOptions): Landings {
  const opened = new Map<CollectionName, Promise<Landing>>();
  let resumed = 0;
  let startedAt: string | undefined;

  function open<T>(reader: CollectionReader<T>): Promise<Landing> {
    const { folder, runId, baseUrl, auth, firstPage, maxAgeMs, maxPageBytes, restart } = options;
    const { name } = reader.collection;
    const source = { baseUrl, account: queryOf(auth), collection: name, limit: reader.limit, firstPage };
    const landing =
      opened.get(name) ?? openLanding({ folder, source, runId, maxAgeMs, maxPageBytes, restart }).then((found) => checked(found, reader));
    opened.set(name, landing);
    return landing;
  }

  async function checked<T>(landing: Landing, reader: CollectionReader<T>): Promise<Landing> {
    try {
      await check(landing, reader);
      if (startedAt === undefined || landing.startedAt < startedAt) startedAt = landing.startedAt;
      return landing;
    } catch (failure) {
      await landing.close();
      throw failure;
    }
  }

  /** A list whose last landed page looks different now is another list. A damaged page is none: the one before it is looked at. */
  async function check<T>(landing: Landing, reader: CollectionReader<T>): Promise<void> {
    const last = landing.last();
    if (last === undefined) return;
    const body = await landing.read(last);
    if (body === undefined) return check(landing, reader);
    const now = await firstValueFrom(reader.request({ ...(last === wholeList ? {} : { page: last }), purpose: 'probe' }));
    if (Buffer.compare(now.body, body) === 0) {
      resumed += landing.resumed - landing.damaged;
      return;
    }
    const message = `${reader.collection.name}: page ${last} has changed since ${landing.startedAt}; all pages are read afresh`;
    await landing.clear();
    options.onWarning({ code: 'W_LANDING_STALE', message });
  }

  async function all(): Promise<readonly Landing[]> {
    return (await Promise.allSettled(opened.values())).flatMap((landing) => (landing.status === 'fulfilled' ? [landing.value] : []));
  }

  async function each(work: (landing: Landing) => Promise<void>): Promise<void> {
    for (const landing of await all()) await work(landing);
  }

  return {
    landed: async (reader) => landedReader(reader, await open(reader)),
    get resumed() {
      return resumed;
    },
    get startedAt() {
      return startedAt;
    },
    folders: async () => (await all()).map(({ folder }) => folder),
    remove: () => each((landing) => landing.remove()),
    close: () => each((landing) => landing.close()),
  };
}

/** Number under which a list without pages lands. */
const wholeList = 0;

function landedReader<T extends Row>(reader: CollectionReader<T>, landing: Landing): CollectionReader<T> {
  function request(asked: ListRequest): Observable<ListAnswer> {
    const { page = wholeList, limit = reader.limit, purpose = 'page', fresh = false } = asked;
    // Probes have to ask the service, and pages of another size are other pages.
    if (purpose === 'probe' || limit !== reader.limit) return reader.request(asked);
    return defer(() => (fresh ? Promise.resolve(undefined) : landedAnswer(page))).pipe(
      switchMap((answer) => (answer ? of(answer) : reader.request(asked).pipe(switchMap((answer) => land(page, answer))))),
    );
  }

  /** What cannot be read was never landed, since only answers are that could be. */
  async function landedAnswer(page: number): Promise<ListAnswer | undefined> {
    const body = await landing.read(page);
    if (body === undefined) return undefined;
    try {
      return { batch: reader.decode(body), body };
    } catch (failure) {
      if (!(failure instanceof SourceError)) throw failure;
      landing.forget(page);
      return undefined;
    }
  }

  /** An empty page ends the list, and that is asked again by every run. */
  async function land(page: number, answer: ListAnswer): Promise<ListAnswer> {
    if (answer.batch.length > 0) await landing.land(page, answer.body);
    return answer;
  }

  return {
    ...reader,
    request,
    list: (page) => request(reader.collection.paged ? { page } : {}).pipe(map(({ batch }) => batch.rows as readonly T[])),
  };
}
