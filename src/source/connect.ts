import { EMPTY, concat, defer, type Observable } from 'rxjs';
import {
  collections,
  type AreaCode,
  type Bridge,
  type Collection,
  type CollectionName,
  type Lead,
  type Link,
  type Rows,
  type User,
} from '../collections/index.js';
import type { Events } from '../events/index.js';
import { createClient, eventsOf, type ClientOptions, type CollectionReader } from './fetch/client.js';
import { GateError } from '../core/index.js';
import { handOver, rows, type Page } from '../flow/index.js';
import { checkConnection, checkIdentifier, checkRead } from './connect-options.js';
import { driftOf, refuseUnstable } from './verdict.js';
import { newConsistency, type Consistency } from './consistency.js';
import { readPages } from './read.js';
import type { ReadingOptions } from './options.js';

/** How to reach and read a service. */
export type ConnectOptions = ClientOptions &
  Omit<ReadingOptions, 'onPage' | 'at' | 'events' | 'lookAgain' | 'expectedRows'> & {
    /** Whether a list that no number of passes made sure of ends its stream all the same. Default false: it fails. */
    readonly allowUnstable?: boolean | undefined;
    /** Called with what was found out of a collection when its pages have come to their end. */
    readonly onConsistency?: ((collection: CollectionName, consistency: Consistency) => void) | undefined;
  };

/** What of a collection is wanted. */
export interface ReadOptions {
  /** Credential-like columns that are wanted all the same. Default: none. */
  readonly reveal?: readonly string[];
}

/**
 * A service to read from. Streams are cold and independent: each subscription reads the collection from its start, holds
 * at most `window` pages, and aborts its requests on unsubscribe. A page is released when whoever gets it returns, unless one of
 * `mapAsync`, `deliver`, `writeTo` or a step took it in that call: they slow the source down to their own pace. Operators of RxJS that queue
 * pages do not.
 *
 * With `consistency`, a stream ends with an error where a pipeline would be refused: `GateError` `E_GATE_CONSISTENCY` for an unstable
 * list, and under `strict` `E_GATE_STRICT` for one that drifted, which without is a warning.
 */
export interface Service {
  /** What the events of this connection bear as `run`. */
  readonly id: string;
  readonly leads$: Observable<Page<Lead>>;
  readonly bridges$: Observable<Page<Bridge>>;
  readonly areacodes$: Observable<Page<AreaCode>>;
  readonly links$: Observable<Page<Link>>;
  readonly users$: Observable<Page<User>>;
  /** The pages of a collection, in page order. */
  pages<N extends CollectionName>(collection: N, options?: ReadOptions): Observable<Page<Rows[N]>>;
  /** The rows of a collection, one by one. */
  rows<N extends CollectionName>(collection: N, options?: ReadOptions): Observable<Rows[N]>;
  /** The records with an identifier: none, one, or (area codes) several. */
  find<N extends CollectionName>(collection: N, id: string, options?: ReadOptions): Observable<readonly Rows[N][]>;
  /** Closes idle connections. */
  close(): void;
}

/**
 * Connects to a service; nothing is requested before something is subscribed.
 *
 * @throws {SourceError} `E_SOURCE_CONFIG` for options that cannot be right.
 *
 * @example
 * const service = connect({ baseUrl: 'https://data.example', auth: { rest_api_key: key } });
 * service.rows('leads').pipe(take(10)).subscribe((lead) => console.log(lead.lead_id));
 */
export function connect(options: ConnectOptions): Service {
  checkConnection(options);
  const events = eventsOf(options);
  const client = createClient(options, events);

  /** The reader of a collection by its name, which the type system cannot follow through the map of collections. */
  function reader<N extends CollectionName>(name: N, reveal: readonly string[] = []): CollectionReader<Rows[N]> {
    return client.reader<Collection>(collections[name], reveal) as CollectionReader<Rows[N]>;
  }

  function pages<N extends CollectionName>(collection: N, read: ReadOptions = {}): Observable<Page<Rows[N]>> {
    checkRead(collection, read);
    const { reveal } = read;
    return defer(() => {
      const consistency = newConsistency(options.consistency);
      return concat(
        readPages(reader(collection, reveal), { ...options, events }, consistency).pipe(handOver()),
        defer(() => conclude(collection, consistency, options, events)),
      );
    });
  }

  return {
    id: events.id,
    leads$: pages('leads'),
    bridges$: pages('bridges'),
    areacodes$: pages('areacodes'),
    links$: pages('links'),
    users$: pages('users'),
    pages,
    rows: (collection, read) => pages(collection, read).pipe(rows()),
    find: (collection, id, read = {}) => {
      checkRead(collection, read);
      checkIdentifier(collection, id);
      return reader(collection, read.reveal).find(id);
    },
    close: client.close,
  };
}

/** Holds a stream to what a pipeline is held to. */
function conclude(collection: CollectionName, consistency: Consistency, options: ConnectOptions, events: Events): Observable<never> {
  options.onConsistency?.(collection, consistency);
  const warnings = driftOf(collection, consistency);
  if (!options.strict) for (const warning of warnings) events.warn(warning);
  const failure = GateError.of([
    ...(options.allowUnstable ? [] : refuseUnstable(collection, consistency)),
    ...(options.strict ? warnings.map(({ code, message }) => ({ code: 'E_GATE_STRICT', message: `${code}: ${message}` }) as const) : []),
  ]);
  if (failure) throw failure;
  return EMPTY;
}
