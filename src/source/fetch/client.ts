import {
  Subject,
  catchError,
  defer,
  map,
  of,
  takeUntil,
  tap,
  throwError,
  type MonoTypeOperatorFunction,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import type { Collection, RowOf } from '../../collections/index.js';
import { batchFromRows, type RecordBatch } from '../../vector/index.js';
import { SourceError, createRedactor } from '../../core/index.js';
import { connectionId, Events, type Watchers } from '../../events/index.js';
import type { JsonRecord } from '../../json/index.js';
import { object } from '../../options/index.js';
import {
  type Answer,
  headersOf,
  queryOf,
  secretsOf,
  type Credentials,
  checkOptions,
  clientChecks,
  createRequests,
  discreet,
  proxyFor,
  proxySecrets,
  type RateLimiters,
  type RetryPolicy,
} from '../../http/index.js';
import { defaults } from '../../options/index.js';
import { Decoder } from '../decode/decoder.js';
import type { Findings, KnownField } from '../decode/findings.js';
import { openFetching, type ScannedAnswer } from './fetching.js';
import { readSingle } from '../decode/records.js';
import { flattened } from './listed.js';
import { Listing, notFound, type ListAnswer, type ListRequest } from './listing.js';
import { factsOf, targetOf, type Asked } from './target.js';

/** How to reach a service. Times in milliseconds, sizes in bytes. */
export interface ClientOptions {
  /** Everything before `/api`; without user info and query. */
  readonly baseUrl: string;
  readonly auth: Credentials;
  /** Rows asked for per page, 1 to 500. Default 30, the service's own recommendation. */
  readonly limit?: number;
  /** Connections to the service. Default 4. */
  readonly concurrency?: number;
  /** Requests that may start per second. Default: no limit. */
  readonly ratePerSecond?: number;
  /** Time until an answer begins; it may take twice as long to the end. Default 60,000. */
  readonly timeoutMs?: number;
  /** Default: 6 attempts, base 500, cap 30,000. */
  readonly retry?: Partial<RetryPolicy>;
  /** Largest answer after decompression. Default 67,108,864, which is 64 MiB. */
  readonly maxBodyBytes?: number;
  /**
   * Threads that fetch beside this one, 0 or 1. One relieves this thread of HTTP and of finding the texts in the answers, which is
   * more than a third of reading. Default 0.
   */
  readonly threads?: number;
  /** Values besides the key that names of fields and messages must not show. Default: none. */
  readonly secrets?: readonly string[];
  /** Receives what happens. Default: nobody but the subscribers of the channels. */
  readonly watch?: Watchers | undefined;
  /**
   * Address of an HTTP proxy, with user and password where it wants them, as `http://user:password@proxy.example:3128`; `false` for none.
   * Default: that of the environment, `HTTPS_PROXY` for a service with TLS and `HTTP_PROXY` for one without, unless `NO_PROXY` has its host.
   */
  readonly proxy?: string | false | undefined;
  /** Certificates of authorities that are trusted besides the usual ones, in PEM. Default: none, and those of `NODE_EXTRA_CA_CERTS`. */
  readonly ca?: string | readonly string[] | undefined;
  /** Source of the jitter. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Clock and timer of pace and retries, as a `VirtualTimeScheduler` in tests. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike | undefined;
}

/** Reads one collection. Observables are cold: each subscription is one request with its retries, aborted on unsubscribe. */
export interface CollectionReader<T> {
  readonly collection: Collection;
  /** Rows asked for per page, unless a request says otherwise. */
  readonly limit: number;
  /**
   * One page of the list, or the whole of one that is not paged.
   *
   * @param page Number as the service counts, usually from 1.
   * @throws {SourceError} When the page could not be read in spite of retries.
   */
  list(page: number): Observable<readonly T[]>;
  /** The same with everything that a request can say, and with the bytes that came. */
  request(request: ListRequest): Observable<ListAnswer>;
  /** An answer that was kept; `counted` says whether `findings` count it, by default they do. @throws {SourceError} When it is no list of records. */
  decode(body: Uint8Array, counted?: boolean): ListAnswer;
  /**
   * The records with an identifier: none, one, or (area codes) several.
   *
   * @throws {SourceError} `E_SOURCE_REFUSED` for an identifier that is empty, made of dots or no valid Unicode; it is never
   * sent.
   */
  find(id: string): Observable<readonly T[]>;
  /** What rows had so far that the definition of the collection does not say. */
  readonly findings: Findings;
  /** Gives undeclared fields the names that they have elsewhere. To be called before anything is read. */
  reserve(fields: readonly KnownField[]): void;
}

/** Reads one service; all its readers share connections, pace and retries. */
export interface ServiceClient {
  /** @param reveal Secret columns that are wanted. Default: none. */
  reader<C extends Collection>(collection: C, reveal?: readonly string[]): CollectionReader<RowOf<C>>;
  /** Requests that are under way at most; those beyond wait. */
  readonly concurrency: number;
  /** Begins to load what the first request needs; to be called when something else is waited for. */
  prepare(): void;
  /** Ends a stream with `E_SOURCE_CLOSED` when the client is closed, and at once when it already is. */
  whileOpen<T>(): MonoTypeOperatorFunction<T>;
  /**
   * Ends the requests that are under way or wait, and those that come later, with `E_SOURCE_CLOSED`. May be called more than once.
   *
   * @returns Resolves when connections and thread are gone; it never rejects.
   */
  close(): Promise<void>;
}

/** Other options are nobody's business here. */
const taken = object(clientChecks, ['baseUrl', 'auth'], 'open');

/** The events of a connection of its own. */
export function eventsOf({ baseUrl, auth, secrets = [], proxy, watch }: ClientOptions): Events {
  const withheld = [...secretsOf(auth), ...proxySecrets(proxyFor(baseUrl, proxy)), ...secrets];
  return new Events(connectionId(), createRedactor(withheld), watch);
}

/**
 * @param worksFor The run or connection that the client works for. Default: a connection of its own.
 * @param limiters Rate limiters that it shares with other clients of the service. Default: it has one of its own.
 * @throws {SourceError} `E_SOURCE_CONFIG` when an option cannot be right.
 */
export function createClient(options: ClientOptions, worksFor?: Events, limiters?: RateLimiters): ServiceClient {
  checkOptions(options, taken);
  const events = worksFor ?? eventsOf(options);
  const { redact } = events;
  const {
    auth,
    limit = defaults.limit,
    concurrency = defaults.concurrency,
    ratePerSecond = Infinity,
    timeoutMs = defaults.timeoutMs,
    maxBodyBytes = defaults.maxBodyBytes,
    threads = 0,
  } = options;
  const baseUrl = addressOf(options.baseUrl);
  const transport = openFetching(
    {
      ...{ baseUrl, query: queryOf(auth), headers: headersOf(auth), concurrency, timeoutMs, maxBodyBytes },
      proxy: proxyFor(baseUrl, options.proxy),
      ca: options.ca === undefined ? undefined : [options.ca].flat(),
    },
    threads,
  );
  const requests = createRequests(transport, {
    concurrency,
    ratePerSecond,
    retry: { attempts: defaults.attempts, baseMs: defaults.baseMs, capMs: defaults.capMs, ...options.retry },
    random: options.random ?? Math.random,
    scheduler: options.scheduler,
    // A clock of its own is nobody else's.
    limiter: options.scheduler === undefined ? limiters?.of(baseUrl) : undefined,
    events,
  });
  const closed$ = new Subject<never>();
  const whileOpen = <T>(): MonoTypeOperatorFunction<T> => takeUntil(closed$);
  const paths = new Map<string, string>();
  const surroundings = { baseUrl, secrets: secretsOf(auth) };

  function read<T>(asked: Asked, decode: (label: string, answer: ScannedAnswer) => T): Observable<T> {
    return requests.read(targetOf(baseUrl, asked), decode, () => factsOf(baseUrl, asked)).pipe(whileOpen());
  }

  /** Tries the paths of a collection in order of preference and remembers the one that is there. */
  function onPath<T>(collection: Collection, attempt: (path: string) => Observable<T>): Observable<T> {
    return defer(() => {
      const known = paths.get(collection.name);
      const candidates = known === undefined ? collection.paths.map((path) => (path.startsWith('/') ? path : `/api/${path}`)) : [known];
      return candidates
        .map((path) => attempt(path).pipe(tap({ complete: () => void paths.set(collection.name, path) })))
        .reduce((tried$, other$) => tried$.pipe(catchError((error: unknown) => (isNotFound(error) ? other$ : throwError(() => error)))));
    });
  }

  return {
    reader: <C extends Collection>(collection: C, reveal: readonly string[] = []): CollectionReader<RowOf<C>> => {
      const decoder = new Decoder(collection, reveal, redact);

      const listing = new Listing({ collection, decoder, limit, surroundings, read });
      const request = (asked: ListRequest): Observable<ListAnswer> => onPath(collection, (path) => listing.request(path, asked));

      return {
        collection,
        limit,
        findings: decoder.findings,
        reserve: (fields) => decoder.reserve(fields),
        decode: (body, counted) => {
          try {
            return listing.decode(body, counted);
          } catch (error) {
            throw discreet(error, redact);
          }
        },
        list: (page) => request(collection.paged ? { page } : {}).pipe(map(({ batch }) => rowsIn<C>(batch))),
        request,
        find: (id) => {
          if (/^\.*$/.test(id) || !id.isWellFormed()) {
            const message = `${collection.name}: an identifier must not be empty, made of dots or no valid Unicode`;
            return throwError(() => new SourceError('E_SOURCE_REFUSED', 'permanent', message));
          }
          const single = (path: string) =>
            read({ collection, path, id }, (at, answer) => rowsIn<C>(batchFromRows(decoder.decode(recordsIn(at, answer, collection)))));
          return onPath(collection, single).pipe(catchError((error: unknown) => (isNotFound(error) ? of([]) : throwError(() => error))));
        },
      };
    },
    concurrency,
    prepare: () => transport.prepare(),
    whileOpen,
    close: () => {
      // A subject fails once, and whoever subscribes later gets the same failure.
      closed$.error(new SourceError('E_SOURCE_CLOSED', 'permanent', `${baseUrl.replace(/\/+$/, '')}: the connection was closed`));
      return transport.close();
    },
  };
}

function recordsIn(path: string, answer: Answer, { served }: Collection): readonly JsonRecord[] {
  if (answer.status === 404) throw notFound(path, 'no such record');
  const records = readSingle(path, answer);
  return served ? flattened(records, served) : records;
}

function isNotFound(error: unknown): boolean {
  return error instanceof SourceError && error.status === 404;
}

/** A decoder makes the columns of its collection, which the type system cannot follow. */
function rowsIn<C extends Collection>(batch: RecordBatch): readonly RowOf<C>[] {
  return batch.rows as readonly RowOf<C>[];
}

/** Only what the check has seen goes on: a bare `?` or `#` would swallow the path. */
function addressOf(checked: string): string {
  const { origin, pathname } = new URL(checked);
  return origin + pathname;
}
