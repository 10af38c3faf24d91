import { EMPTY, firstValueFrom, identity, map, Observable, takeUntil, type MonoTypeOperatorFunction } from 'rxjs';
import {
  collectionNames,
  type Collection,
  type CollectionName,
  type RowOf,
  type Rows,
  type Secrets,
  type SecretsOf,
  columnsOf,
  withheldOf,
} from '../collections/index.js';
import {
  byName,
  defined,
  GateError,
  newConsistency,
  type Consistency,
  type Row,
  onAbort,
  stoppedBy,
  amountOf,
  type Violation,
  type Warning,
} from '../core/index.js';
import {
  checkConnection,
  collectionIn,
  registryOf,
  type ReadingOptions,
  checkFieldNames,
  checkRead,
  type FindOptions,
  type ReadOptions,
} from './options.js';
import { createClient, eventsOf, type ClientOptions, type ServiceClient } from './fetch/client.js';
import type { Events } from '../events/index.js';
import { batchOf, handOver, RowStream, withBatch, type OpenedSource, type Page, type Purpose } from '../flow/index.js';
import { readPages } from './read.js';

/** How to reach and read a service. @typeParam Own The program's own collections. */
export type ConnectOptions<Own extends Collection = never> = ClientOptions &
  Omit<ReadingOptions, 'onPage' | 'onRead' | 'onKeys' | 'onFault' | 'at' | 'events' | 'lookAgain' | 'expectedRows' | 'grouped' | 'range'> &
  Pick<ReadOptions, 'allowUnstable' | 'onDuplicateKey'> & {
    /** The program's own collections, from `defineCollection`, and those of the service with more fields. Default: none. */
    readonly collections?: readonly Own[] | undefined;
  };

/** The row type of each collection, including the program's own. */
export type RowsWith<Own extends Collection> = Rows & { readonly [C in Own as C['name']]: RowOf<C> };

/** The withheld fields of each collection, including the program's own. */
export type SecretsWith<Own extends Collection> = Secrets & { readonly [C in Own as C['name']]: SecretsOf<C> };

/** A stream of rows for each collection that every service has. */
export type CollectionStreams<Own extends Collection = never> = {
  readonly [N in CollectionName]: CollectionStream<RowsWith<Own>[N], SecretsWith<Own>[N]>;
};

/** A service to read from. Its collections are streams of rows. At most `window` pages of each read are in memory. */
export interface Service<Own extends Collection = never> extends CollectionStreams<Own> {
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
  /** Ends current and later reads with `E_SOURCE_CLOSED`, as `await using` does. Resolves when all is closed; never rejects. */
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
  // Each collection has its own row type, but the type system cannot follow the map.
  return service as unknown as Service<Own>;
}

interface Connection {
  readonly client: ServiceClient;
  readonly events: Events;
  readonly options: ReadingOptions & Pick<ReadOptions, 'allowUnstable' | 'onDuplicateKey'>;
}

type Revealing<T, Secrets, Reveal> = [Reveal] extends [never] ? T : T & Pick<Secrets, Reveal & keyof Secrets>;

type Chosen<T, Field> = [Field] extends [never] ? T : Pick<T, Field & keyof T>;

/**
 * All rows of a collection. Each loop, subscription or stream reads it from the start to its confirmed end; errors come after the rows
 * before them. Unless `consistency` is `off`, it ends with a `GateError` where a pipeline would be refused: `E_GATE_CONSISTENCY` for an
 * unstable list, `E_GATE_KEY` for different rows with one key (`onDuplicateKey`), and under `strict` `E_GATE_STRICT` for a list that
 * drifted, which is otherwise a warning.
 *
 * @typeParam Secrets The fields that are withheld unless revealed.
 *
 * @example
 * for await (const lead of service.leads) console.log(lead.lead_id);
 * service.leads.consistency?.outcome; // 'stable'
 */
export class CollectionStream<T, Secrets = unknown> extends RowStream<T> {
  readonly #connection: Connection;
  readonly #collection: Collection;
  readonly #read: ReadOptions;

  /** @internal */
  constructor(connection: Connection, collection: Collection, read: ReadOptions = {}) {
    const columns = columnsOf(collection, read.reveal);
    super({
      columns: read.fields?.flatMap((name) => columns.filter((column) => column.name === name)) ?? columns,
      withheld: withheldOf(collection, read.reveal),
      key: collection.key,
      open: (purpose) => open(connection, collection, read, purpose),
      warn: (warning) => connection.events.warn(warning),
    });
    this.#connection = connection;
    this.#collection = collection;
    this.#read = read;
  }

  /**
   * Returns the same collection with other options; options that are not named keep their values.
   *
   * @throws {SourceError} `E_SOURCE_CONFIG`, synchronously, for invalid options.
   *
   * @example
   * for await (const lead of service.leads.with({ fields: ['lead_id', 'zipcode'], signal })) console.log(lead.zipcode);
   * service.bridges.with({ reveal: ['crm_key'], consistency: 'prove' }); // rows with crm_key
   */
  with<const Reveal extends keyof Secrets & string = never, const Field extends (keyof T & string) | Reveal = never>(
    options: ReadOptions<Reveal, Field>,
  ): CollectionStream<Chosen<Revealing<T, Secrets, Reveal>, Field>, [Field] extends [never] ? Secrets : unknown> {
    checkRead(this.#collection.name, options);
    const read = { ...this.#read, ...defined(options) };
    checkFieldNames(this.#collection, read);
    return new CollectionStream(this.#connection, this.#collection, read);
  }

  /**
   * Finds the records with an identifier: none, one, or (area codes) several. Nothing else of the list is read.
   *
   * @throws {SourceError} `E_SOURCE_REFUSED` for an identifier that cannot be in a path.
   *
   * @example
   * const [lead] = await service.leads.find('1000001');
   */
  async find(id: string, options: FindOptions = {}): Promise<readonly T[]> {
    const { name } = this.#collection;
    const { reveal, fields, signal = this.#read.signal } = { ...this.#read, ...defined(options) };
    const found = await firstValueFrom(
      this.#connection.client
        .reader(this.#collection, reveal)
        .find(id)
        .pipe(untilAborted(signal, stopped(name))),
    );
    const only = (names: readonly string[], row: Row) => Object.fromEntries(names.map((field) => [field, row[field] ?? null]));
    const rows = fields === undefined ? found : found.map((row) => only(fields, row));
    // A reader returns its collection's rows, but the type system cannot follow the map of collections.
    return rows as readonly Row[] as readonly T[];
  }
}

function open({ client, events, options }: Connection, collection: Collection, read: ReadOptions, purpose: Purpose): OpenedSource {
  const { reveal, fields, signal } = read;
  const reader = client.reader<Collection>(collection, reveal);
  const settings = { ...options, ...defined(read), events };
  const consistency = newConsistency(settings.consistency ?? (purpose === 'writing' ? 'repair' : 'check'), settings.onDuplicateKey);
  const judged = () => conclude(collection.name, consistency, settings);
  const all$: Observable<Page> = readPages(reader, settings, consistency, judged).pipe(
    handOver(),
    client.whileOpen(),
    untilAborted(signal, stopped(collection.name)),
  );
  return {
    pages$: fields === undefined ? all$ : all$.pipe(map((page) => withBatch(page, batchOf(page).select(fields)))),
    undeclared: () => (fields === undefined ? reader.findings.placed : []),
    consistency,
  };
}

function conclude(
  collection: string,
  consistency: Consistency,
  { strict, allowUnstable, events }: Pick<ReadOptions, 'strict' | 'allowUnstable'> & { readonly events: Events },
): Observable<never> {
  const warnings = driftOf(collection, consistency);
  if (!strict) for (const warning of warnings) events.warn(warning);
  const failure = GateError.of([
    ...refuseRead(collection, consistency, allowUnstable),
    ...(strict ? warnings.map(({ code, message }) => ({ code: 'E_GATE_STRICT', message: `${code}: ${message}` }) as const) : []),
  ]);
  if (failure) throw failure;
  return EMPTY;
}

function stopped(collection: string): string {
  return `${collection}: the read was stopped by its signal`;
}

/** Ends a stream when a signal is aborted, before any request if it already is. The error is `E_RUN_ABORTED` or `E_RUN_DEADLINE`. */
export function untilAborted<T>(signal: AbortSignal | undefined, message: string): MonoTypeOperatorFunction<T> {
  if (signal === undefined) return identity;
  const aborted$ = new Observable<never>((subscriber) => {
    const abort = () => subscriber.error(stoppedBy(signal, message));
    if (signal.aborted) return abort();
    return onAbort(signal, abort);
  });
  return takeUntil(aborted$);
}

/** Returns why a read must not be published: rows are missing because others have their key, or may be, after any number of passes. */
export function refuseRead(at: string, consistency: Consistency, allowUnstable = false): readonly Violation[] {
  const { outcome, onDuplicateKey, passes, unordered, drift, conflicts, conflict = '' } = consistency;
  const rows = amountOf(conflicts, 'row');
  const message = `${at}: at least ${rows} with the key of a different row, like ${conflict}; on_duplicate_key: keep_all keeps all of them, keep_first the first of each key`;
  const keys: readonly Violation[] = onDuplicateKey !== undefined || conflicts === 0 ? [] : [{ code: 'E_GATE_KEY', message }];
  if (outcome !== 'unstable' || allowUnstable) return keys;
  const why = unordered
    ? `the list has a different order each time, and ${amountOf(passes, 'pass', 'passes')} did not find as many different keys as it has rows`
    : `after ${amountOf(passes, 'further pass', 'further passes')} over the list rows that had been missed were still found`;
  return [...keys, { code: 'E_GATE_CONSISTENCY', message: `${at}: ${why}${because(drift)}` }];
}

/** Returns the warning that rows of an unrepaired read may be missing, also if drift was evident in an unchecked read. */
export function driftOf(at: string, { outcome, drift }: Consistency): readonly Warning[] {
  if (outcome !== 'drifted' && (outcome !== 'off' || drift.length === 0)) return [];
  return [{ code: 'W_SOURCE_DRIFT', message: `${at}: the list changed while it was read, so rows may be missing${because(drift)}` }];
}

function because([first, ...others]: readonly string[]): string {
  if (first === undefined) return '';
  return ` (${first}${others.length > 0 ? `, and ${others.length} more` : ''})`;
}
