import { randomBytes } from 'node:crypto';
import { map, of, Subject, takeUntil, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import type { Collection } from '../../collections/index.js';
import { SourceError, createRedactor, warnProcess } from '../../core/index.js';
import { Events, type Watchers } from '../../events/index.js';
import {
  secretKeyOf,
  sentOf,
  type Credentials,
  createRequests,
  proxyFor,
  proxySecrets,
  type OwnAgents,
  type RateLimiters,
  type RetryPolicy,
  type Target,
} from '../../http/index.js';
import { defaults } from '../../options/index.js';
import { checkConnection } from '../options.js';
import { answerOf, openFetching, type Outcome, type ScannedAnswer, type Usual } from './fetching.js';
import { createReader } from './reader.js';
import { factsOf, knownPaths, targetOf, type OnPath, type RequestSpec } from './request.js';

/** How to reach a service. Times in milliseconds, sizes in bytes. */
export interface ClientOptions {
  /** Everything before `/api`; without user info and query. */
  readonly baseUrl: string;
  readonly auth: Credentials;
  /** Rows requested per page, 1 to 500. Default 30, the service's own recommendation. */
  readonly limit?: number | undefined;
  /** Connections to the service. Default 4. */
  readonly concurrency?: number | undefined;
  /** Requests that may start per second. Default: no limit. */
  readonly ratePerSecond?: number | undefined;
  /** Maximum time until a response begins; the whole response may take twice as long. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Default: 6 attempts, base 500, cap 30,000. */
  readonly retry?: Partial<RetryPolicy> | undefined;
  /** Largest response after decompression. Default 67,108,864, which is 64 MiB. */
  readonly maxPageBytes?: number | undefined;
  /** Additional threads for HTTP and for finding the texts in responses, a third of the work of reading: 0 or 1. Default 0. */
  readonly threads?: number | undefined;
  /** Further values that field names and messages must not show. Default: only the key. */
  readonly secrets?: readonly string[] | undefined;
  /** Receives events. Default: only subscribers of the channels do. */
  readonly watch?: Watchers | undefined;
  /**
   * Address of an HTTP proxy, with user and password if needed: `http://user:password@proxy.example:3128`; `false` for none. Default: from
   * the environment, `HTTPS_PROXY` for a service with TLS, otherwise `HTTP_PROXY`, unless `NO_PROXY` contains its host.
   */
  readonly proxy?: string | false | undefined;
  /** Additional trusted CA certificates, in PEM. Default: none, besides those of `NODE_EXTRA_CA_CERTS`. */
  readonly ca?: string | readonly string[] | undefined;
  /**
   * The program's own agents: `http` of `node:http` for a service without TLS, `https` of `node:https` for one with TLS. `close()` leaves
   * them open. Proxies are ignored then, but `ca` applies. Not with `threads: 1`. Default: a new agent that keeps up to `concurrency`
   * connections open.
   */
  readonly agent?: OwnAgents | undefined;
  /** Random numbers for the jitter. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** Reads one service; all readers share connections, pace and retries. */
export type ServiceClient = ReturnType<typeof createClient>;

export function eventsOf({ baseUrl, auth, secrets = [], proxy, agent, watch = [] }: ClientOptions): Events {
  const withheld = [secretKeyOf(auth).value, ...proxySecrets(proxyFor(baseUrl, agent ? false : proxy)), ...secrets];
  return new Events(`connection-${randomBytes(4).toString('hex')}`, createRedactor(withheld), watch);
}

/** @param given Where events go. Default: those of a new connection. @throws {SourceError} `E_SOURCE_CONFIG` for invalid options. */
export function createClient(options: ClientOptions, given?: Events, limiters?: RateLimiters) {
  checkConnection(options);
  const events = given ?? eventsOf(options);
  const { redact } = events;
  const { auth, agent, ca, limit = defaults.limit, concurrency = defaults.concurrency, ratePerSecond = Infinity } = options;
  const { timeoutMs = defaults.timeoutMs, maxPageBytes = defaults.maxPageBytes, random = Math.random } = options;
  const { attempts = defaults.attempts, baseMs = defaults.baseMs, capMs = defaults.capMs } = options.retry ?? {};
  // Only the checked parts: a bare `?` or `#` would swallow the path.
  const { origin, pathname } = new URL(options.baseUrl);
  const baseUrl = origin + pathname;
  const proxy = proxyFor(baseUrl, agent ? false : options.proxy, warnProcess);
  const authorities = ca === undefined ? undefined : [ca].flat();
  const connection = { baseUrl, ...sentOf(auth), concurrency, timeoutMs, maxPageBytes, proxy, ca: authorities, agent };
  const transport = openFetching(connection, options.threads ?? 0);
  const retry = { attempts, baseMs, capMs };
  const limiter = limiters?.of(baseUrl);
  const requests = createRequests(transport, { concurrency, ratePerSecond, retry, random, limiter, events });
  const closed$ = new Subject<never>();
  const whileOpen = <T>(): MonoTypeOperatorFunction<T> => takeUntil(closed$);
  const paths = knownPaths();
  const onPath: OnPath = (collection, attempt) => paths(collection, attempt).pipe(whileOpen());
  const linkScope = { baseUrl, secrets: [secretKeyOf(auth).value] };

  function read<T>(spec: RequestSpec, decode: (label: string, answer: ScannedAnswer) => T): Observable<T> {
    const { first, target = targetOf(baseUrl, spec) } = spec;
    const first$ = first && of(first).pipe(map(answerOf));
    return requests.read(target, decode, () => factsOf(baseUrl, spec), first$);
  }

  const { together: fetch } = transport;
  /** Requests pages one after another in the thread; none if some would have to wait. */
  const together =
    fetch && ((targets: readonly Target[], usual: Usual): Observable<readonly Outcome[]> => requests.whenFree(fetch(targets, usual)));

  return {
    reader: <C extends Collection>(collection: C, reveal: readonly string[] = []) =>
      createReader(collection, reveal, { limit, redact, linkScope, read, together, onPath }),
    /** Maximum number of requests in progress; others wait. */
    concurrency,
    /** Ends a stream with `E_SOURCE_CLOSED` when the client is closed, at once if it already is. */
    whileOpen,
    /** Ends current, waiting and later requests with `E_SOURCE_CLOSED`. Resolves when connections and thread are closed; never rejects. */
    close: () => {
      // Later subscribers of the subject get the same error.
      closed$.error(new SourceError('E_SOURCE_CLOSED', 'permanent', `${baseUrl.replace(/\/+$/, '')}: the connection was closed`));
      return transport.close();
    },
  };
}
