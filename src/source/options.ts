import type { Observable } from 'rxjs';
import { collections, withheldOf, type Collection, type Registry } from '../collections/index.js';
import { byName, consistencyModes, createRedactor, duplicateKeyModes, isMap, isObject, unknownName, wrongOption } from '../core/index.js';
import type { ConsistencyMode, OnDuplicateKey, Row } from '../core/index.js';
import { watchersProblem } from '../events/index.js';
import type { Fault, Page } from '../flow/index.js';
import { credentialsProblem, proxyProblem, type OwnAgents } from '../http/index.js';
import { abortSignal, anyObject, boolean, callable, check, judged, listOf, number, numberOrInfinity, object } from '../options/index.js';
import { addressProblem, bounds, defaults, oneOf, repeatsIn, texts, windowHoldsConcurrency } from '../options/index.js';
import type { Check, Checks } from '../options/index.js';
import type { PagingOptions } from './paging.js';

/** The keys of the rows of a list that were read, by any pass. */
export interface ReadKeys {
  has(key: string): boolean;
  /** Whether a row had no key. */
  readonly keyless: boolean;
}

/** A page of the first read of a list, with all of its rows. */
export interface ReadPage {
  readonly number: number;
  /** Of its first row in the list, from 0. */
  readonly position: number;
  /** A digest of each row. */
  readonly digests: Uint32Array;
}

export interface ReadingOptions extends PagingOptions {
  /** Pages in memory at a time. Default: twice the concurrency. */
  readonly window?: number | undefined;
  /** Requests at a time. Default 4. */
  readonly concurrency?: number | undefined;
  /** How the read is checked for rows that moved while it ran. Default of `readPages`: `off`. */
  readonly consistency?: ConsistencyMode | undefined;
  /** Maximum number of passes of `repair` and `prove`. Default 8; 30 for a list without a stable order. */
  readonly maxPasses?: number | undefined;
  /** Milliseconds to wait before an end that may be an outage (an empty list, or after a full page) is checked again. Default 5,000. */
  readonly endWaitMs?: number | undefined;
  /** Rows that the list had the last time; only an earlier end is checked again after a wait. Default: unknown. */
  readonly expectedRows?: number | undefined;
  /** Called at the confirmed end of the list, with a function that checks later whether rows were added after it. */
  readonly onEnd?: ((hasMore: () => Observable<boolean>) => void) | undefined;
  /** Whether the end is checked again when all pages were released; a chain that keeps one waits forever. Default false. */
  readonly lookAgain?: boolean | undefined;
  /** The step that reads the list, for events. Default: the source does. */
  readonly at?: string | undefined;
  /** Whether small pages may be read together, with up to 16 times as many in memory. Default false. */
  readonly grouped?: boolean | undefined;
  /** Receives every page of the list as read, before the check. Counts may rely on it: it is not an event. */
  readonly onPage?: ((page: Page) => void) | undefined;
  /** Receives every page as the list has it, also the last one again with more rows. */
  readonly onRead?: ((page: ReadPage) => void) | undefined;
  /** Receives the keys of the rows that are read, as they are read. A list that is not checked keeps none. */
  readonly onKeys?: ((keys: ReadKeys) => void) | undefined;
  /** Receives rows in which a field has several values. Returns whether the row stays, with `null` as the value. Default: the read fails. */
  readonly onFault?: ((row: Row, fault: Fault) => boolean) | undefined;
}

/** The options of a read that override those of `connect`. */
export interface ReadOptions<Reveal extends string = string, Field extends string = string> {
  /** Secret fields to include. Default: none. */
  readonly reveal?: readonly Reveal[] | undefined;
  /** Fields to include, in this order, at least one. Default: all, and undeclared fields of the service. */
  readonly fields?: readonly Field[] | undefined;
  /** Stops the read with an error, `E_RUN_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /** How the list is checked for rows that move while it is read. Default: as for `connect`, else `check`, and `repair` under `writeTo`. */
  readonly consistency?: ConsistencyMode | undefined;
  /** Whether a list that drifted fails. Default: as for `connect`. */
  readonly strict?: boolean | undefined;
  /** Whether a list that no number of passes could confirm ends normally. Default: as for `connect`, else false: it fails. */
  readonly allowUnstable?: boolean | undefined;
  /** Which of different rows with one key are kept. Default: as for `connect`, else none: the list fails. */
  readonly onDuplicateKey?: OnDuplicateKey | undefined;
}

/** Options for finding single records. */
export interface FindOptions {
  /** Stops the request; the promise is rejected with `E_RUN_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

const shared: Checks = {
  consistency: oneOf(consistencyModes),
  onDuplicateKey: oneOf(duplicateKeyModes),
  strict: boolean,
  allowUnstable: boolean,
};

const agent = check('an agent of node:http or node:https', (value) => isObject(value) && typeof value['addRequest'] === 'function');

const numbers = ['limit', 'concurrency', 'timeoutMs', 'maxPageBytes', 'threads', 'window', 'firstPage', 'maxPasses', 'endWaitMs'] as const;

const connectionChecks: Checks = {
  baseUrl: judged(addressProblem),
  auth: judged(credentialsProblem),
  ...byName(numbers, (name) => number(bounds[name])),
  ratePerSecond: numberOrInfinity(bounds.ratePerSecond),
  retry: object({ attempts: number(bounds.attempts), baseMs: number(bounds.delayMs), capMs: number(bounds.delayMs) }),
  secrets: texts(),
  watch: judged(watchersProblem),
  proxy: judged((proxy) => (proxy === false ? undefined : proxyProblem(proxy))),
  ca: check('PEM certificates, as a text or a list of texts; for a file, pass its contents', isAuthorities),
  agent: object({ http: agent, https: agent }),
  random: callable,
  collections: listOf(anyObject),
  maxPages: numberOrInfinity(bounds.maxPages),
  onEnd: callable,
  ...shared,
};

export function windowOf({ concurrency = defaults.concurrency, window = 2 * concurrency }: ReadingOptions): number {
  return window;
}

/** Checks the options of a connection. @throws {SourceError} `E_SOURCE_CONFIG` with every problem, and no address or credential. */
export function checkConnection(
  options: Pick<ReadingOptions, 'window' | 'concurrency'> & {
    readonly baseUrl: string;
    readonly agent?: OwnAgents | undefined;
    readonly threads?: number | undefined;
    readonly proxy?: string | false | undefined;
  },
): void {
  checkOptions(options, object(connectionChecks, ['baseUrl', 'auth']), 'the options of a connection, like { baseUrl, auth },');
  if (!windowHoldsConcurrency(options)) throw wrongOption('window must be at least the concurrency');
  const { agent: agents, baseUrl, threads, proxy } = options;
  if (agents === undefined) return;
  const protocol = new URL(baseUrl).protocol === 'https:' ? 'https' : 'http';
  // Otherwise requests would not take the way that the program wants.
  if (agents[protocol] === undefined) throw wrongOption(`agent.${protocol} is missing: the base URL uses ${protocol}`);
  if (threads === 1) throw wrongOption('threads cannot be combined with agent');
  if (typeof proxy === 'string') throw wrongOption('proxy cannot be combined with agent');
}

function isAuthorities(ca: unknown): boolean {
  return [ca].flat().every((text) => typeof text === 'string' && text.includes('-----BEGIN CERTIFICATE-----'));
}

/** @param what The options, in words. */
function checkOptions(options: unknown, wanted: Check, what: string): void {
  const problems = isMap(options) ? wanted(options, '') : [`${what} must be an object`];
  // An unknown name could be a key.
  const redact = createRedactor(isMap(options) ? textsIn(options['auth']) : []);
  if (problems.length > 0) throw wrongOption(problems.map(redact).join('; '));
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

const read = object({ reveal: texts(), fields: texts(1), signal: abortSignal, ...shared });

/** @throws {SourceError} `E_SOURCE_CONFIG` for a name that no collection has. */
export function collectionIn(registry: Registry, name: string): Collection {
  const found = Object.hasOwn(registry, name) ? registry[name] : undefined;
  if (found === undefined) throw wrongOption(unknownName('collection', String(name), Object.keys(registry)));
  return found;
}

export function checkRead(collection: string, options: unknown): void {
  checkOptions(options, read, `the options of ${collection}.with, like { fields: ['id'] },`);
}

export function checkFieldNames(collection: Collection, { reveal = [], fields = [] }: Pick<ReadOptions, 'reveal' | 'fields'>): void {
  const known = Object.keys(collection.fields);
  for (const [option, names] of Object.entries({ reveal, fields })) {
    const unknown = names.find((name) => !known.includes(name));
    if (unknown !== undefined) throw wrongOption(`${collection.name}: ${option}: ${unknownName('field', unknown, known)}`);
  }
  const withheld = withheldOf(collection, reveal);
  const secret = fields.find((name) => withheld.includes(name));
  if (secret === undefined) return;
  throw wrongOption(`${collection.name}: fields: '${secret}' is secret; name it under reveal, too`);
}

/** The collections of every service, and those of a program. */
export function registryOf(own: readonly Collection[] = []): Registry {
  const [twice] = repeatsIn(own.map(({ name }) => name));
  if (twice !== undefined) throw wrongOption(`collections: '${own[twice]?.name}' stands twice; extend the extended one`);
  return { ...collections, ...Object.fromEntries(own.map((collection) => [collection.name, collection])) };
}
