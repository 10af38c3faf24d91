import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { LeadstreamError, reasonOf } from '../core/index.js';
import { anyObject, callable, check, checkUsage, filledText, listOf, number, object, texts } from '../options/index.js';
import { collectionNames } from '../collections/index.js';
import type { Account } from './accounts.js';
import type { Drift } from './drift/index.js';
import type { OwnTable } from './own-tables.js';
import { requestLog, type RequestEntry } from './request-log.js';
import type { ServiceOptions } from './service.js';

/** What the service serves, to whom, how it misbehaves, and where it listens. */
export interface StartOptions extends ServiceOptions {
  readonly accounts: readonly Account[];
  /** Collections that a user declared, opened with `openOwnTables`. Quirks, faults and drift do not apply to them. Default: none. */
  readonly own?: readonly OwnTable[];
  /** Port to listen on; 0, the default, takes a free one. */
  readonly port?: number;
  /** Address to listen on; the default, 127.0.0.1, can be reached from this machine only. */
  readonly host?: string;
  /** Called once per GET or HEAD on a collection's path, even if it is refused, before the answer is sent. */
  readonly onRequest?: (entry: RequestEntry) => void;
  /** File that gets a line of NDJSON per request, for observers in another process. */
  readonly requestLog?: string | undefined;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isTable = (value: unknown) => isObject(value) && typeof Reflect.get(value, 'row') === 'function';

const taken = object(
  {
    source: check(
      `an object with ${collectionNames.join(', ')}, as generate returns it`,
      (value) => isObject(value) && collectionNames.every((name) => isTable(Reflect.get(value, name))),
    ),
    accounts: listOf(anyObject),
    quirks: check(
      'an object or a list of strings',
      (value) => isObject(value) && texts().faults(Array.isArray(value) ? value : [], '').length === 0,
    ),
    faults: texts(),
    drift: check('an object or a string', (value) => typeof value === 'string' || (isObject(value) && !Array.isArray(value))),
    seed: number({ whole: true }),
    responders: listOf(callable),
    own: listOf(anyObject),
    port: number({ whole: true, min: 0, max: 65_535 }),
    host: filledText,
    onRequest: callable,
    requestLog: filledText,
  },
  ['source', 'accounts'],
);

/** A service that is listening. */
export interface RunningService {
  /** Base URL without a trailing slash, for example `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  /** What has changed in the lists; nothing without `drift`. */
  readonly drift: Drift;
  /** Stops listening and ends every connection at once, even one that is being answered. */
  close(): Promise<void>;
}

/**
 * Starts the data service over HTTP and resolves when it listens.
 *
 * @throws {LeadstreamError} `E_USAGE` for invalid options: no account, an address that cannot be listened on, a request log that cannot be written, or an
 * invalid quirk, fault or drift.
 *
 * @example
 * const service = await startService({ source: generate({ leads: 1000 }), accounts: [{ uid: '7', key: 'k' }] });
 * await fetch(`${service.url}/api/leads?authorized_uid=7&authorized_rest_api_key=k`);
 * await service.close();
 */
export async function startService(given: StartOptions): Promise<RunningService> {
  checkUsage('startService', taken, given);
  const { port = 0, host = '127.0.0.1', ...options } = given;
  // Programs that only read do not load what a service consists of.
  const [{ createServer }, { getRequestListener }, { createApp }, { createService }] = await Promise.all([
    import('node:http'),
    import('@hono/node-server'),
    import('./app.js'),
    import('./service.js'),
  ]);
  const { answer, paging, drift } = createService(options);
  const log = options.requestLog === undefined ? undefined : requestLog(options.requestLog);
  const onRequest = (entry: RequestEntry): void => {
    log?.(entry);
    options.onRequest?.(entry);
  };
  const app = createApp({ accounts: options.accounts, answer, own: options.own ?? [], paging, onRequest });
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer((request, response) => {
    // A request that cannot be answered ends its own connection, not the service.
    listener(request, response).catch(() => response.destroy());
  });
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    throw new LeadstreamError('E_USAGE', `cannot listen on ${host}:${port}: ${reasonOfListening(error)}`);
  }
  const address = server.address();
  const bound = address !== null && typeof address === 'object' ? address.port : port;
  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${bound}`,
    port: bound,
    drift,
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function reasonOfListening(error: unknown): string {
  const inUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  return inUse ? 'the port is in use; choose another one, or 0 for a free one' : reasonOf(error);
}
