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
    /** What `defineCollection` made of the program's own collections. Default: none. */
    readonly collections?: readonly Own[] | undefined;
    /** Whether a list that no number of passes made sure of ends its stream all the same. Default false: it fails. */
    readonly allowUnstable?: boolean | undefined;
  };

/** The row type of each collection, the program's own among them. */
export type RowsWith<Own extends Collection> = [Own] extends [never] ? Rows : Rows & { readonly [C in Own as C['name']]: RowOf<C> };

/** The same of the fields that are withheld. */
export type SecretsWith<Own extends Collection> = [Own] extends [never]
  ? Secrets
  : Secrets & { readonly [C in Own as C['name']]: SecretsOf<C> };

/** A stream of rows for each collection that every service has. */
export type CollectionStreams = { readonly [N in CollectionName]: CollectionStream<Rows[N], Secrets[N]> };

/**
 * A service to read from. Its collections are streams of rows; nothing is requested before something is read. At most `window` pages of each
 * read are in memory.
 */
export interface Service<Own extends Collection = never> extends CollectionStreams {
  /** What the events of this connection bear as `run`. */
  readonly id: string;
  /**
   * A collection by its name, those of the program among them.
   *
   * @throws {SourceError} `E_SOURCE_CONFIG` for a name that is none.
   *
   * @example
   * for await (const order of connect({ baseUrl, auth, collections: [orders] }).collection('orders')) console.log(order.no);
   */
  collection<N extends keyof RowsWith<Own> & keyof SecretsWith<Own> & string>(
    name: N,
  ): CollectionStream<RowsWith<Own>[N], SecretsWith<Own>[N]>;
  /**
   * Ends what is under way, and what is read later, with `SourceError` `E_SOURCE_CLOSED`. May be called more than once; `await using`
   * calls it, too.
   *
   * @returns Resolves when connections and thread are gone; it never rejects.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Connects to a service; nothing is requested before something is read.
 *
 * @throws {SourceError} `E_SOURCE_CONFIG` for options that cannot be right.
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
  // Each collection has rows of its own, which the type system cannot follow through the map of them.
  return service as unknown as Service<Own>;
}
