import {
  collectionNames,
  type Collection,
  type CollectionName,
  type RowOf,
  type Rows,
  type Secrets,
  type SecretsOf,
} from '../collections/index.js';
import { byName } from '../core/index.js';
import { CollectionStream } from './collection-stream.js';
import { checkConnection, collectionIn, registryOf } from './connect-options.js';
import { createClient, eventsOf, type ClientOptions } from './fetch/client.js';
import type { ReadingOptions } from './options.js';

/** How to reach and read a service. @typeParam Own The program's own collections. */
export type ConnectOptions<Own extends Collection = never> = ClientOptions &
  Omit<ReadingOptions, 'onPage' | 'at' | 'events' | 'lookAgain' | 'expectedRows'> & {
    /** The program's own collections, from `defineCollection`. Default: none. */
    readonly collections?: readonly Own[] | undefined;
    /** Whether a list that no number of passes could confirm ends its stream normally. Default false: it fails. */
    readonly allowUnstable?: boolean | undefined;
  };

/** The row type of each collection, including the program's own. */
export type RowsWith<Own extends Collection> = [Own] extends [never] ? Rows : Rows & { readonly [C in Own as C['name']]: RowOf<C> };

/** The withheld fields of each collection, including the program's own. */
export type SecretsWith<Own extends Collection> = [Own] extends [never]
  ? Secrets
  : Secrets & { readonly [C in Own as C['name']]: SecretsOf<C> };

/** A stream of rows for each collection that every service has. */
export type CollectionStreams = { readonly [N in CollectionName]: CollectionStream<Rows[N], Secrets[N]> };

/**
 * A service to read from. Its collections are streams of rows; nothing is requested until something is read. At most `window` pages of each
 * read are in memory.
 */
export interface Service<Own extends Collection = never> extends CollectionStreams {
  /** The value of `run` in the events of this connection. */
  readonly id: string;
  /**
   * Returns a collection by name, including the program's own.
   *
   * @throws {SourceError} `E_SOURCE_CONFIG` for an unknown name.
   *
   * @example
   * for await (const order of connect({ baseUrl, auth, collections: [orders] }).collection('orders')) console.log(order.no);
   */
  collection<N extends keyof RowsWith<Own> & keyof SecretsWith<Own> & string>(
    name: N,
  ): CollectionStream<RowsWith<Own>[N], SecretsWith<Own>[N]>;
  /**
   * Ends current and later reads with `SourceError` `E_SOURCE_CLOSED`. It may be called more than once, and `await using` calls it too.
   *
   * @returns Resolves when connections and thread are closed; it never rejects.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Connects to a service; nothing is requested until something is read.
 *
 * @throws {SourceError} `E_SOURCE_CONFIG` for invalid options.
 *
 * @example
 * const service = connect({ baseUrl: 'https://data.example', auth: { rest_api_key: key } });
 * for await (const lead of service.leads) console.log(lead.lead_id);
 */
export function connect<Own extends Collection = never>(options: ConnectOptions<Own>): Service<Own> {
  checkConnection(options);
  const registry = registryOf(options.collections);
  const events = eventsOf(options);
  const client = createClient(options, events);
  const connection = { client, events, options };
  const collection = (name: string) => new CollectionStream(connection, collectionIn(registry, name));

  const service = {
    id: events.id,
    ...byName(collectionNames, collection),
    collection,
    close: client.close,
    [Symbol.asyncDispose]: client.close,
  };
  // Each collection has its own row type, which the type system cannot follow through the map.
  return service as unknown as Service<Own>;
}
