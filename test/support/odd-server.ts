import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { lastValueFrom, map, type Observable } from 'rxjs';
import { collections } from '../../src/collections/index.js';
import { createClient, type ClientOptions, type ServiceClient } from '../../src/source/fetch/client.js';
import type { MomentEvent } from '../../src/events/index.js';
import { SourceError } from '../../src/core/errors.js';
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

/** Runs a test against a server with the given handler; `attempt` counts all requests from 1. */
export async function withServer(handler: Handler, test: (server: OddServer) => Promise<void>): Promise<void> {
  const server = await startServer(handler);
  try {
    await test(server);
  } finally {
    server.close();
  }
}

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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, requests, aborted: () => aborted, connections: () => connections, close };
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

/** Runs a test with a client that hardly waits; `notices` are its retries. */
export async function withClient(
  options: Partial<ClientOptions> & { readonly baseUrl: string },
  test: (client: ServiceClient, notices: readonly RetryEvent[]) => Promise<void>,
): Promise<void> {
  const notices: RetryEvent[] = [];
  const client = createClient({
    auth: { rest_api_key: oddKey },
    retry: hasty,
    watch: { retry: (notice) => void notices.push(notice) },
    ...options,
  });
  try {
    await test(client, notices);
  } finally {
    await client.close();
  }
}

/** Runs a test with such a client of a server with the given handler. */
export function withClientOf(
  handler: Handler,
  options: Partial<ClientOptions>,
  test: (client: ServiceClient, seen: { readonly requests: readonly URL[]; readonly notices: readonly RetryEvent[] }) => Promise<void>,
): Promise<void> {
  return withServer(handler, ({ url, requests }) =>
    withClient({ baseUrl: url, ...options }, (client, notices) => test(client, { requests, notices })),
  );
}

/** Returns the error with which reading the first page of leads fails. */
export async function failureOf(client: ServiceClient): Promise<SourceError> {
  const outcome: unknown = await lastValueFrom(list(client.reader(collections.leads), 1)).catch((error: unknown) => error);
  if (!(outcome instanceof SourceError)) throw new Error('the page was read, or failed with an error of somebody else');
  return outcome;
}

/** The result of a failed read of the first page of leads. */
interface FailedRead {
  readonly error: SourceError;
  readonly requests: number;
  readonly notices: readonly RetryEvent[];
}

/** Reads leads from a server with the given handler, and expects a failure that reveals no credential. */
export async function failedRead(handler: Handler, options: Partial<ClientOptions> = {}): Promise<FailedRead> {
  let read: FailedRead | undefined;
  await withClientOf(handler, options, async (client, { requests, notices }) => {
    const error = await failureOf(client);
    expectDiscreet(error);
    for (const notice of notices) expectDiscreet(notice);
    read = { error, requests: requests.length, notices };
  });
  if (!read) throw new Error('no failure');
  return read;
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
