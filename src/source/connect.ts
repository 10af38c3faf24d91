import { EMPTY, concat, defer, type Observable } from 'rxjs';
import {
  type AreaCode,
  type Bridge,
  type Collection,
  type CollectionName,
  type Lead,
  type Link,
  type RowOf,
  type Rows,
  type User,
} from '../collections/index.js';
import type { Events } from '../events/index.js';
import { createClient, eventsOf, type ClientOptions } from './fetch/client.js';
import { GateError, type Row } from '../core/index.js';
import { handOver, rows, type Page } from '../flow/index.js';
import { checkConnection, checkIdentifier, checkRead, registryOf } from './connect-options.js';
import { driftOf, refuseUnstable } from './verdict.js';
import { newConsistency, type Consistency } from './consistency.js';
import { readPages } from './read.js';
import type { ReadingOptions } from './options.js';

/** How to reach and read a service. @typeParam Own The program's own collections. */
export type ConnectOptions<Own extends Collection = never> = ClientOptions &
  Omit<ReadingOptions, 'onPage' | 'at' | 'events' | 'lookAgain' | 'expectedRows'> & {
    /** What `defineCollection` made of the program's own collections. Default: none. */
    readonly collections?: readonly Own[] | undefined;
    /** Whether a list that no number of passes made sure of ends its stream all the same. Default false: it fails. */
    readonly allowUnstable?: boolean | undefined;
    /** Called with what was found out of a collection when its pages have come to their end. */
    readonly onConsistency?: ((collection: CollectionName | Own['name'], consistency: Consistency) => void) | undefined;
  };

/** The row type of each collection, the program's own among them. */
export type RowsWith<Own extends Collection> = [Own] extends [never] ? Rows : Rows & { readonly [C in Own as C['name']]: RowOf<C> };

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
export interface Service<Own extends Collection = never> {
  /** What the events of this connection bear as `run`. */
  readonly id: string;
  readonly leads$: Observable<Page<Lead>>;
  readonly bridges$: Observable<Page<Bridge>>;
  readonly areacodes$: Observable<Page<AreaCode>>;
  readonly links$: Observable<Page<Link>>;
  readonly users$: Observable<Page<User>>;
  /** The pages of a collection, in page order. */
  pages<N extends keyof RowsWith<Own> & string>(collection: N, options?: ReadOptions): Observable<Page<RowsWith<Own>[N]>>;
  /** The rows of a collection, one by one. */
  rows<N extends keyof RowsWith<Own> & string>(collection: N, options?: ReadOptions): Observable<RowsWith<Own>[N]>;
  /** The records with an identifier: none, one, or (area codes) several. */
  find<N extends keyof RowsWith<Own> & string>(collection: N, id: string, options?: ReadOptions): Observable<readonly RowsWith<Own>[N][]>;
  /**
   * Ends what is under way, and what is subscribed later, with `SourceError` `E_SOURCE_CLOSED`. May be called more than once; `await using`
   * calls it, too.
   *
   * @returns Resolves when connections and thread are gone; it never rejects.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Connects to a service; nothing is requested before something is subscribed.
 *
 * @throws {SourceError} `E_SOURCE_CONFIG` for options that cannot be right.
 *
 * @example
 * const service = connect({ baseUrl: 'https://data.example', auth: { rest_api_key: key } });
 * service.rows('leads').pipe(take(10)).subscribe((lead) => console.log(lead.lead_id));
 * connect({ baseUrl, auth, collections: [orders] }).rows('orders'); // what defineCollection('orders', …) says of it
 */
export function connect<Own extends Collection = never>(options: ConnectOptions<Own>): Service<Own> {
  checkConnection(options);
  const registry = registryOf(options.collections);
  const events = eventsOf(options);
  const client = createClient(options, events);

  function pages(name: string, read: ReadOptions = {}): Observable<Page> {
    const collection = checkRead(registry, name, read);
    return defer(() => {
      const consistency = newConsistency(options.consistency);
      return concat(
        readPages(client.reader<Collection>(collection, read.reveal), { ...options, events }, consistency).pipe(handOver()),
        defer(() => conclude(collection.name, consistency, options, events)),
      ).pipe(client.whileOpen());
    });
  }

  function find(name: string, id: string, read: ReadOptions = {}): Observable<readonly Row[]> {
    const collection = checkRead(registry, name, read);
    checkIdentifier(name, id);
    return client.reader<Collection>(collection, read.reveal).find(id);
  }

  const service = {
    id: events.id,
    leads$: pages('leads'),
    bridges$: pages('bridges'),
    areacodes$: pages('areacodes'),
    links$: pages('links'),
    users$: pages('users'),
    pages,
    rows: (name: string, read?: ReadOptions) => pages(name, read).pipe(rows()),
    find,
    close: client.close,
    [Symbol.asyncDispose]: client.close,
  };
  // Each collection has rows of its own, which the type system cannot follow through the map of them.
  return service as unknown as Service<Own>;
}

/** Holds a stream to what a pipeline is held to. */
function conclude<Own extends Collection>(
  collection: string,
  consistency: Consistency,
  options: ConnectOptions<Own>,
  events: Events,
): Observable<never> {
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
