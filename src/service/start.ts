import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { collections, type Collection } from '../collections/index.js';
import { LeadstreamError, reasonOf } from '../core/index.js';
import { authoriser, credentialNames, type Account } from './accounts.js';
import { bodyOf, failure, json, faultResponder } from './answer.js';
import type { Answer, Answerer, DataSource, RequestFacts, Responder, ServedTable, FaultSpec } from './answer.js';

/** What the service serves, to whom, how it misbehaves, and where it listens. */
export interface StartOptions {
  readonly source: DataSource;
  readonly accounts: readonly Account[];
  /** Collections that a user declared; the source has their tables. Default: none. */
  readonly declared?: readonly Collection[];
  /** Faults, the first one outermost. Default: none. */
  readonly faults?: readonly FaultSpec[];
  /** Wrapped around the faults, the first one outermost. Default: none. */
  readonly responders?: readonly Responder[];
  /** Port to listen on. Default 0: a free one. */
  readonly port?: number;
  /** Address to listen on. Default 127.0.0.1: only this machine can reach it. */
  readonly host?: string;
  /** Called once per GET or HEAD on a collection's path, also if it is refused. Errors are ignored: a log must not fail a request. */
  readonly onRequest?: (entry: RequestEntry) => void;
}

/** A request on a collection's path. */
export interface RequestEntry extends RequestFacts {
  /** HTTP status of the answer; 0 for none. */
  readonly status: number;
}

/** A service that is listening. */
export interface RunningService {
  /** Base URL without a trailing slash, for example `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  /** Stops listening and ends every connection: at once, or for requests under way after their answer, at most `graceMs`. Default: 0. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Starts the data service over HTTP and resolves when it listens.
 *
 * @throws {LeadstreamError} `E_USAGE` without an account, for an address that cannot be listened on, and for an invalid fault.
 *
 * @example
 * const service = await startService({ source: generate({ leads: 1000 }), accounts: [{ uid: '7', key: 'k' }] });
 * await fetch(`${service.url}/api/leads?authorized_uid=7&authorized_rest_api_key=k`);
 * await service.close();
 */
export async function startService({ port = 0, host = '127.0.0.1', ...options }: StartOptions): Promise<RunningService> {
  const answerTo = answererOf(options);
  // Programs that only read do not load it.
  const { createServer } = await import('node:http');
  const server = createServer((request, response) => {
    // A request that cannot be answered ends its own connection, not the service.
    answerTo(request)
      .then((answer) => {
        response.shouldKeepAlive &&= server.listening;
        send(answer, response);
      })
      .catch(() => response.destroy());
  });
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    const inUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    const reason = inUse ? 'the port is in use; choose another one, or 0 for a free one' : reasonOf(error);
    throw new LeadstreamError('E_USAGE', `cannot listen on ${host}:${port}: ${reason}`);
  }
  const address = server.address();
  const bound = address !== null && typeof address === 'object' ? address.port : port;
  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: async ({ graceMs = 0 } = {}) => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      if (graceMs > 0) await Promise.race([closed, wait(graceMs, undefined, { ref: false })]);
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Route {
  readonly collection: Collection;
  readonly table: ServedTable;
}

/** Answers requests. Refusals are checked in the order 401, 405, 404, 400. `page` and `limit` are read only if a list is paged. */
function answererOf({ source, declared = [], accounts, faults = [], responders = [], onRequest }: StartOptions) {
  const authorises = authoriser(accounts);
  const around = [...responders, ...faults.map((fault) => faultResponder(fault))];
  const routes = new Map<string, Route>();
  for (const collection of [...Object.values<Collection>(collections), ...declared]) {
    const table = source[collection.name];
    if (!table) throw new LeadstreamError('E_USAGE', `the source has no table for ${collection.name}`);
    for (const path of collection.paths) routes.set(path.startsWith('/') ? path : `/api/${path}`, { collection, table });
  }
  let sequence = 0;

  return async ({ url = '/', method = '', headers }: IncomingMessage): Promise<Answer> => {
    const { pathname, searchParams } = new URL(url, 'http://service');
    const [authorised, reads] = [authorises(searchParams), method === 'GET' || method === 'HEAD'];
    const [, list = '', id = null] = routes.has(pathname) ? ['', pathname] : (/^(.*)\/([^/]+)$/.exec(pathname) ?? []);
    const route = routes.get(list);
    if (!route || !reads) return !authorised ? unauthorised : reads ? failure(404, 'there is nothing at this path') : notAllowed;
    const { page, limit, first } = parametersOf(route.collection);
    const facts: RequestFacts = {
      collection: route.collection.name,
      path: pathname,
      id: id === null ? null : decoded(id),
      page: wholeNumber(searchParams.get(page), first),
      limit: wholeNumber(searchParams.get(limit), 30),
      purpose: headers['x-leadstream-purpose'] === 'probe' ? 'probe' : 'page',
      query: Object.fromEntries([...searchParams].filter(([name]) => !credentialNames.includes(name))),
      sequence: (sequence += 1),
    };
    const inner: Answerer = (asked) => answerFrom(route, asked);
    const answerer = around.reduceRight<Answerer>((next, responder) => (asked) => responder(asked, next), inner);
    const answer = authorised ? await answerer(facts) : unauthorised;
    const entry = { ...facts, status: answer.kind === 'rows' ? 200 : answer.status };
    (async () => onRequest?.(entry))().catch(() => {});
    return answer;
  };
}

const unauthorised = failure(401, 'credentials are missing or wrong');
const notAllowed = failure(405, 'only GET is supported', { allow: 'GET' });

function answerFrom({ collection, table }: Route, { id, page, limit }: RequestFacts): Answer {
  const answered = (positions: readonly number[]): Answer => ({
    kind: 'rows',
    rows: positions.map((position) => table.row(position)),
    within: collection.served?.rows ?? [],
  });
  if (id !== null) return answered(table.find(id));
  if (!collection.paged) return answered(positionsFrom(table, 0, table.count));
  const { first } = parametersOf(collection);
  if (!(page >= first)) return failure(400, `page must be a whole number, at least ${first}`);
  if (!(limit >= 1)) return failure(400, 'limit must be a whole number, at least 1');
  const size = Math.min(limit, 500);
  return answered(positionsFrom(table, (page - first) * size, size));
}

function positionsFrom({ count }: ServedTable, offset: number, limit: number): readonly number[] {
  return Array.from({ length: Math.max(0, Math.min(limit, count - offset)) }, (_, index) => offset + index);
}

function parametersOf({ served }: Collection): { readonly page: string; readonly limit: string; readonly first: number } {
  const { param = 'page', limit = 'limit', first = 1 } = served?.paging.scheme === 'page' ? served.paging : {};
  return { page: param, limit, first };
}

function wholeNumber(text: string | null, fallback: number): number {
  if (text === null) return fallback;
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

function send(answer: Answer, response: ServerResponse): void {
  if (answer.kind === 'wire') return answer.send(response);
  const { status, headers, body } = answer.kind === 'raw' ? answer : { status: 200, headers: json, body: bodyOf(answer) };
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
}
