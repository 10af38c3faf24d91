import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { lastValueFrom, map, type Observable } from 'rxjs';
import { collections } from '../../src/collections/index.js';
import { createClient, type ClientOptions, type ServiceClient } from '../../src/source/fetch/client.js';
import type { MomentEvent } from '../../src/events/index.js';
import { SourceError } from '../../src/core/errors.js';
import { loadPipeline } from '../../src/plan/index.js';
import { runPipeline, type RunOptions } from '../../src/run/index.js';
import { closeAfter, portOf } from './closing.js';
import { temporaryFolder } from './temporary.js';
import type { Row } from '../../src/core/index.js';
import type { CollectionReader } from '../../src/source/index.js';

/** Reads one page of a list as rows. */
export function list<T extends Row>({ collection, request }: CollectionReader<T>, page: number): Observable<readonly T[]> {
  return request(collection.paged ? { page } : {}).pipe(map(({ batch }) => batch.rows() as readonly T[]));
}

/** A credential that looks different in a URL, a form and JSON. */
export const oddKey = 'k+e y/%&é"';

/** A local HTTP server and the requests it received. */
export interface OddServer {
  readonly url: string;
  readonly requests: readonly URL[];
  /** Number of requests whose connection the client closed before the answer was complete. */
  readonly aborted: () => number;
}

export type Handler = (response: ServerResponse, url: URL, attempt: number, request: IncomingMessage) => void;

/** Starts a server with the given handler for one test; `attempt` counts all requests from 1. */
export const ownServer = async (handler: Handler) => closeAfter(await startServer(handler));

/** Starts a server with the given handler, for several tests. It leaves idle connections open. */
export async function startServer(handler: Handler): Promise<OddServer & { connections(): number; close(): void }> {
  const requests: URL[] = [];
  let aborted = 0;
  const listener: RequestListener = (request, response) => {
    const url = new URL(request.url ?? '', 'http://local');
    requests.push(url);
    response.on('close', () => {
      if (!response.writableFinished) aborted += 1;
    });
    handler(response, url, requests.length, request);
  };
  const server = createServer({ keepAliveTimeout: 0 }, listener);
  let connections = 0;
  server.on('connection', (socket) => {
    connections += 1;
    socket.on('close', () => (connections -= 1));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${portOf(server)}`;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url, requests, aborted: () => aborted, connections: () => connections, close };
}

/** Answers with a status, a body and headers. */
export function answer(status: number, body: string | Uint8Array = '', headers: Record<string, string> = {}): Handler {
  return (response) => response.writeHead(status, headers).end(body);
}

/** Answers with status 200 and this value as JSON. */
export function json(value: unknown): Handler {
  return answer(200, JSON.stringify(value), { 'content-type': 'application/json' });
}

/** Answers each request with the next handler, and all later ones with the last. */
export function inTurn(...handlers: readonly Handler[]): Handler {
  return (response, url, attempt, request) => handlers[Math.min(attempt, handlers.length) - 1]?.(response, url, attempt, request);
}

/** Writes something repeatedly until the connection is closed. */
function over(bytes: string, everyMs: number, head = ''): Handler {
  return (_response, _url, _attempt, { socket }) => {
    socket.on('error', () => {});
    socket.write(head, 'latin1');
    const timer = setInterval(() => void socket.write(bytes, 'latin1'), everyMs);
    socket.on('close', () => clearInterval(timer));
  };
}

const emptyGzip = gzipSync('').toString('latin1');
const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

/** Answers that never end, in every possible place, slow enough for the limits of sizes. */
export const endless: readonly (readonly [string, Handler])[] = [
  ['nothing at all', () => {}],
  ['a head that drips', over('x', 5, `${head}x-drip: `)],
  ['header after header', over('x-more: 1\r\n', 20, head)],
  ['one 102 after the other', over('HTTP/1.1 102 Processing\r\n\r\n', 5)],
  ['one 103 after the other', over('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', 5)],
  ['one 100 after the other', over('HTTP/1.1 100 Continue\r\n\r\n', 5)],
  ['a body that drips', over(' ', 5, `${head}content-length: 100000\r\n\r\n[`)],
  ['a body without a length', over(' ', 5, `${head}connection: close\r\n\r\n[`)],
  ['chunks that drip', over('1\r\n \r\n', 5, `${head}transfer-encoding: chunked\r\n\r\n`)],
  ['the extension of a chunk', over('x', 5, `${head}transfer-encoding: chunked\r\n\r\n1;x=`)],
  ['trailers', over('x-more: 1\r\n', 20, `${head}transfer-encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n`)],
  ['gzip in which nothing is', over(`14\r\n${emptyGzip}\r\n`, 5, `${head}content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n`)],
];

/** Answers that change the protocol without being asked to. */
export const otherProtocols: readonly (readonly [string, Handler])[] = [
  ['a plain one', over('', 1_000, 'HTTP/1.1 101 Switching Protocols\r\n\r\n')],
  ['to a web socket', over('', 1_000, 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')],
  ['to HTTP/2', over('', 1_000, 'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: h2c\r\n\r\n')],
  ['with rows behind it', over('', 1_000, 'HTTP/1.1 101 Switching Protocols\r\ncontent-length: 2\r\n\r\n[]')],
];

type RetryEvent = MomentEvent<'retry'>;

/** Retries without waiting. */
export const hasty = { attempts: 4, baseMs: 0, capMs: 0 };

/** Opens a client for one test that hardly waits. @returns The client, and its retries so far. */
export function clientOf(options: Partial<ClientOptions> & { readonly baseUrl: string }): readonly [ServiceClient, readonly RetryEvent[]] {
  const notices: RetryEvent[] = [];
  const watch = { retry: (notice: RetryEvent) => void notices.push(notice) };
  return [closeAfter(createClient({ auth: { rest_api_key: oddKey }, retry: hasty, watch, ...options })), notices];
}

/** Opens such a client of a server with the given handler. */
export async function clientFor(handler: Handler, options: Partial<ClientOptions> = {}) {
  const { url, requests } = await ownServer(handler);
  const [client, notices] = clientOf({ baseUrl: url, ...options });
  return [client, { requests, notices }] as const;
}

/** Returns the error with which reading the first page of leads fails. */
export async function failureOf(client: ServiceClient): Promise<SourceError> {
  const outcome: unknown = await lastValueFrom(list(client.reader(collections.leads), 1)).catch((error: unknown) => error);
  if (!(outcome instanceof SourceError)) throw new Error('the page was read, or failed with an error of somebody else');
  return outcome;
}

/** Reads leads from a server with the given handler, and expects a failure that reveals no credential. */
export async function failedRead(handler: Handler, options: Partial<ClientOptions> = {}) {
  const [client, { requests, notices }] = await clientFor(handler, options);
  const error = await failureOf(client);
  await client.close();
  for (const each of [error, ...notices]) expectDiscreet(each);
  return { error, requests: requests.length, notices };
}

/** Expects that no spelling of the odd key appears in an error or an event. */
export function expectDiscreet(error: object): void {
  const spellings = [
    oddKey,
    encodeURIComponent(oddKey),
    encodeURI(oddKey),
    new URLSearchParams({ k: oddKey }).toString().slice(2),
    'k+e',
    'k%2B',
  ];
  const seen = [
    ...(error instanceof Error ? [error.message, error.stack] : []),
    inspect(error, { depth: 20, showHidden: true }),
    JSON.stringify(error),
    JSON.stringify(Object.values(error)),
  ];
  for (const text of seen) for (const spelling of spellings) expect(text).not.toContain(spelling);
  expect(error).not.toHaveProperty('cause');
}

/** A record of a custom list. */
export type Order = Readonly<Record<string, unknown>>;

/** Makes orders 1 to `count`, including numbers, flags, nulls and records. */
export const orders = (count: number): readonly Order[] =>
  Array.from({ length: count }, (_, index) => ({
    no: index + 1,
    total: (index * 1.25).toFixed(2) === '0.00' ? 0 : index * 1.25,
    paid: index % 2 === 0,
    email: index % 3 === 0 ? null : `o${index + 1}@example.com`,
    address: { city: `City ${index % 7}`, geo: { lat: index / 8 } },
    tags: [`t${index % 3}`, 'all'],
  }));

/** A page of a list, and the total number of rows. */
interface Sent {
  readonly rows: readonly Order[];
  /** Position of the first row. */
  readonly from: number;
  readonly total: number;
}

/** Returns the rows from a position on, as many as a parameter requests, at most `cap`. */
export function slice(rows: readonly Order[], url: URL, from: number, param = 'limit', cap = 100): Sent {
  const size = Math.min(Number(url.searchParams.get(param) ?? 10), cap);
  return { rows: rows.slice(from, from + size), from, total: rows.length };
}

export function send(response: ServerResponse, body: unknown, headers: Readonly<Record<string, string>> = {}, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** Whether rows follow a page. */
export const isMore = ({ rows, from, total }: Sent): boolean => from + rows.length < total;

/** Serves rows by cursor: `{ data: { items }, paging: { next } }`; a cursor contains only where to continue. */
export const byCursor =
  (rows: readonly Order[]): Handler =>
  (response, url) => {
    const cursor = url.searchParams.get('cursor');
    const sent = slice(rows, url, cursor === null ? 0 : Number(Buffer.from(cursor, 'base64url').toString()));
    const next = Buffer.from(String(sent.from + sent.rows.length)).toString('base64url');
    send(response, { data: { items: sent.rows }, paging: isMore(sent) ? { next } : {} });
  };

/** Serves rows by a `Link` header; the URL of the next page is built as by GitHub and Shopify. */
export const byLink =
  (rows: readonly Order[], link: (next: URL) => string = (next) => next.href): Handler =>
  (response, url, _attempt, { headers }) => {
    const sent = slice(rows, url, Number(url.searchParams.get('after') ?? 0));
    const next = new URL(url.pathname + url.search, `http://${headers.host ?? ''}`);
    next.searchParams.set('after', String(sent.from + sent.rows.length));
    send(response, sent.rows, isMore(sent) ? { link: `<${link(next)}>; rel="next", </x?a=1,2>; rel="last"` } : {});
  };

/** Serves rows by offset: `{ items, total }`. */
export const byOffset =
  (rows: readonly Order[]): Handler =>
  (response, url) => {
    const sent = slice(rows, url, Number(url.searchParams.get('skip') ?? 0), 'top');
    send(response, { items: sent.rows, total: sent.total });
  };

/** Serves rows by page number, from `first` on. */
export const byPage =
  (rows: readonly Order[], first: number): Handler =>
  (response, url) => {
    const size = Number(url.searchParams.get('size'));
    const sent = slice(rows, url, (Number(url.searchParams.get('p')) - first) * size, 'size');
    if (sent.from < 0) return send(response, { error: 'no such page' }, {}, 400);
    return send(response, sent.rows);
  };

/** Makes every nth request fail, or cuts off its body. */
export const flaky = (handler: Handler): Handler => {
  let requests = 0;
  return (response, ...asked) => {
    requests += 1;
    if (requests % 5 === 2) return send(response, { error: 'busy' }, { 'retry-after': '0' }, 503);
    if (requests % 5 === 4) return (response.writeHead(200, { 'content-length': '5000' }).write('[{"no":'), void response.destroy());
    handler(response, ...asked);
  };
};

/** The declared fields of the orders. */
const orderFields = `
      no: text
      total: decimal
      paid: flag
      email: { type: text, sensitivity: personal }
      city: { type: text, at: /address/city }
      lat: { type: decimal, at: /address/geo/lat }
      tags: text`;

/** Returns a pipeline file about a custom collection. */
export function ownText(collection: string, rest = 'from: orders\nto: [{ ndjson: { path: orders.ndjson, types: typed } }]'): string {
  return `name: own
service:
  base_url: \${LEADSTREAM_BASE_URL}
  auth: { rest_api_key: "\${LEADSTREAM_REST_API_KEY}" }
  limit: 10
  end_wait: 1ms
  retry: { base: 1ms, cap: 2ms }
collections:
  orders:
${collection}
    fields:${orderFields}
${rest}
`;
}

export const ownKey = 'k+e y/%&é"7f3a9c';

/** Returns the environment of a run against a server. */
export const ownEnv = ({ url }: Pick<OddServer, 'url'>, path = '/v2') => ({
  LEADSTREAM_BASE_URL: url + path,
  LEADSTREAM_REST_API_KEY: ownKey,
});

/** Runs a pipeline file against a server, by default in a folder of its own. */
export async function runOwn(
  server: OddServer,
  text: string,
  folder?: string,
  { set, path, ...options }: RunOptions & { readonly set?: Readonly<Record<string, string>>; readonly path?: string } = {},
) {
  const place = { env: ownEnv(server, path), baseDir: folder ?? (await temporaryFolder()) };
  const pipeline = await loadPipeline({ text, file: 'p.yaml' }, { ...place, ...(set && { set }) });
  return runPipeline(pipeline, { stateDir: `${await temporaryFolder()}/state`, ...options });
}
