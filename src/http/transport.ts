import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import * as tls from 'node:tls';
import { promisify } from 'node:util';
import { brotliDecompress, inflate, inflateRaw, unzip, type ZlibOptions } from 'node:zlib';
import { got, ReadError, RequestError, TimeoutError, type ExtendOptions, type Response } from 'got';
import { Observable } from 'rxjs';
import { amountOf, SourceError, type FailureKind, type SourceFailure } from '../core/index.js';
import { maxTimerMs } from '../options/index.js';
import { proxyAgents, type Agents } from './proxy.js';

/** Options of a transport. Times in milliseconds, sizes in bytes after decompression. */
export interface TransportOptions {
  readonly baseUrl: string;
  /** Query parameters of every request: the credentials. */
  readonly query: Readonly<Record<string, string>>;
  /** Headers of every request: credentials that are not parameters. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** Maximum time of a whole attempt. Default: twice as long. */
  readonly attemptMs?: number;
  readonly maxPageBytes: number;
  readonly proxy?: string | undefined;
  /** Certificates of additional trusted authorities, in PEM. Default: none. */
  readonly ca?: readonly string[] | undefined;
  /** Agents of the caller, who closes them. Default: none. */
  readonly agent?: OwnAgents | undefined;
}

export interface OwnAgents {
  readonly http?: HttpAgent | undefined;
  readonly https?: HttpsAgent | undefined;
}

/** A path below the base URL with its own query. */
export interface Target {
  readonly path: string;
  /** Name in messages: host, path and page, without credentials. */
  readonly label: string;
  /** As sent, without a question mark. */
  readonly query: string;
  /** Sent in the header `x-leadstream-purpose`, unless it is `page`. */
  readonly purpose?: 'page' | 'probe' | undefined;
  /** Body of a POST. Default: the request is a GET. */
  readonly post?: { readonly type: string; readonly body: string } | undefined;
  /** Returns the reason in the body of a refusal, to follow the message. Default: none. */
  readonly reasonIn?: ((body: Uint8Array) => string) | undefined;
}

/** An answer with status 200, or one that means "none": 204, and 404, which also means "not here". */
export interface HttpAnswer {
  readonly status: number;
  readonly body: Uint8Array;
  readonly link?: string | undefined;
}

export interface Transport<A extends HttpAnswer = HttpAnswer> {
  get(target: Target): Observable<A>;
  /** Closes the connections and resolves when they are closed. Call it when nothing is subscribed any more. */
  close(): Promise<void>;
}

/**
 * The only user of got: no redirects, no other protocol, no retries by got, a limit of the body's size, and one timer around the whole
 * attempt. got's errors carry the URL with its credentials, so none of them leaves this file, not even as a `cause`.
 */
export async function createTransport(options: TransportOptions): Promise<Transport> {
  const { proxy, agent: own = {}, ca, maxPageBytes, timeoutMs, attemptMs = 2 * timeoutMs } = options;
  const connections = { keepAlive: true, maxSockets: options.concurrency };
  const { http = new HttpAgent(connections), https = new HttpsAgent(connections) } = own;
  const agents: Agents = proxy === undefined ? { http, https } : await proxyAgents(proxy, connections);
  const base = options.baseUrl.replace(/\/+$/, '');
  // An answer may be the proxy's own, but in a tunnel it is not.
  const way = proxy === undefined || base.startsWith('https:') ? '' : ` through the proxy ${new URL(proxy).host}`;
  const client = got.extend({
    mutableDefaults: true,
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    headers: {
      ...options.headers,
      accept: 'application/json',
      'accept-encoding': 'gzip, deflate, br',
      // A cached answer is no evidence about a list.
      'cache-control': 'no-cache',
      'user-agent': 'leadstream',
    },
    decompress: false,
    agent: { http: agents.http, https: agents.https },
    ...(ca && { https: { certificateAuthority: [...usualAuthorities(), ...ca] } }),
    timeout: { lookup: 5_000, connect: 10_000, secureConnect: 10_000, response: Math.min(timeoutMs, maxTimerMs) },
  } satisfies ExtendOptions);
  // Of no use without a cache. Copied into the options of each request, its undefined members would slow down V8 by 50 µs a request.
  client.defaults.options.cacheOptions = {};
  const credentials = new URLSearchParams(options.query).toString();

  /** @param fail Called with what goes wrong before the answer arrives and would not end the request by itself. */
  function requested(target: Target, fail: (failure: SourceError) => void) {
    const { path, post, purpose } = target;
    // As text: the option `searchParams` would rewrite it.
    const query = [target.query, credentials].filter((part) => part !== '').join('&');
    const request = client.stream(`${base}${path}${query && '?'}${query}`, {
      ...(purpose === 'probe' && { headers: { 'x-leadstream-purpose': 'probe' } }),
      ...(post && { method: 'POST', headers: { 'content-type': post.type }, body: post.body }),
    });
    request.once('request', (sent: ClientRequest) => {
      // Whatever arrives on that connection from now on is not an answer, even if the server names no protocol.
      const leave = ({ statusCode = switching }: IncomingMessage, socket: Duplex) => {
        if (statusCode !== switching) return;
        socket.destroy();
        const failure = refusalOf(target, statusCode, way);
        if (failure) fail(failure);
      };
      sent.once('proxyConnect', ({ statusCode }: { readonly statusCode: number }) => {
        if (statusCode !== 200) fail(proxyRefusal(target, proxy, statusCode));
      });
      sent.once('upgrade', leave);
      sent.once('response', (answer: IncomingMessage) => leave(answer, answer.socket));
    });
    return request;
  }

  return {
    get: (target: Target): Observable<HttpAnswer> =>
      new Observable((subscriber) => {
        // got's timers watch a request, but not a connection that switched to another protocol.
        const timer = setTimeout(() => subscriber.error(tooLate(target, 'request')), Math.min(attemptMs, maxTimerMs));
        const fail = (failure: SourceError) => subscriber.error(failure);
        const request = requested(target, fail);
        const parts: Uint8Array[] = [];
        let size = 0;
        request.on('data', (part: Uint8Array) => {
          parts.push(part);
          size += part.length;
          if (size > maxPageBytes) fail(bodyTooLarge(target, maxPageBytes));
        });
        request.on('error', (thrown: unknown) => {
          const isLate = thrown instanceof TimeoutError;
          fail(isLate ? tooLate(target, thrown.event) : networkFailure(target.label, base, proxy, thrown));
        });
        const answered = async ({ statusCode, headers }: Response) => {
          // What happens to the connection from now on is no failure of this request.
          request.destroy();
          const sent = Buffer.concat(parts, size);
          const failure = refusalOf(target, statusCode, way, headers['retry-after']);
          if (failure) return fail(failure.withMessage(`${failure.message}${target.reasonIn?.(sent) ?? ''}`));
          const encoding = statusCode === 200 ? headers['content-encoding'] : undefined;
          const body = await decoded(target, sent, encoding, maxPageBytes);
          if (body instanceof SourceError) return fail(body);
          subscriber.next({ status: statusCode, body, link: [headers.link].flat().join(', ') });
          subscriber.complete();
        };
        request.once('response', (answer: Response) => request.once('end', () => void answered(answer)));
        return () => {
          clearTimeout(timer);
          request.destroy();
        };
      }),
    close: async () => {
      const made = [agents.http, agents.https].filter((each) => each !== own.http && each !== own.https);
      const sockets = made.flatMap(({ sockets, freeSockets }) =>
        [sockets, freeSockets].flatMap((byHost) => Object.values(byHost).flatMap((those) => those ?? [])),
      );
      for (const each of made) each.destroy();
      agents.abandon?.();
      const open = sockets.filter(({ closed }) => !closed);
      await Promise.all(open.map((socket) => new Promise((closed) => socket.once('close', closed))));
    },
  };
}

const decoders = new Map<string, (body: Uint8Array, options: ZlibOptions) => Promise<Uint8Array>>([
  ['gzip', promisify(unzip)],
  ['x-gzip', promisify(unzip)],
  // Some send it without zlib's header, against RFC 9110.
  ['deflate', (body, options) => promisify(((body[0] ?? 0) & 15) === 8 ? inflate : inflateRaw)(body, options)],
  ['br', promisify(brotliDecompress)],
]);

/** Undoes the encodings of a body, the last one first (RFC 9110, 8.4). Returns why that is not possible. */
async function decoded(target: Target, sent: Uint8Array, encoding = '', maxPageBytes: number): Promise<Uint8Array | SourceError> {
  let body = sent;
  for (const name of encoding
    .toLowerCase()
    .split(/[\s,]+/)
    .toReversed()) {
    if (name === '' || name === 'identity' || body.length === 0) continue;
    const decode = decoders.get(name);
    const what = `${target.label}: HTTP 200 with ${body.length} bytes`;
    if (!decode) return new SourceError('E_SOURCE_ANSWER', 'suspect', `${what} in the encoding ${name}, which is not supported`);
    try {
      body = await decode(body, { maxOutputLength: maxPageBytes });
    } catch (thrown) {
      const { code: systemCode } = thrown as NodeJS.ErrnoException;
      if (systemCode === 'ERR_BUFFER_TOO_LARGE') return bodyTooLarge(target, maxPageBytes);
      const message = `${what}, not the ${name} that it claims to be (${systemCode})`;
      return new SourceError('E_SOURCE_UNAVAILABLE', 'transient', message, { systemCode });
    }
  }
  return body.length > maxPageBytes ? bodyTooLarge(target, maxPageBytes) : body;
}

const switching = 101;

function proxyRefusal(target: Target, proxy = '', status: number): SourceError {
  const message = `${target.label}: the proxy ${new URL(proxy).host} refused the connection: HTTP ${status}`;
  if (status >= 500) return new SourceError('E_SOURCE_UNAVAILABLE', 'transient', message, { status });
  return new SourceError('E_SOURCE_PROXY', 'permanent', message, { status });
}

function refusalOf(target: Target, status: number, way: string, retryAfter?: string): SourceError | undefined {
  if (status === 200 || status === 204 || status === 404 || (target.post && status > 200 && status < 300)) return undefined;
  const refused = (code: SourceError['code'], kind: FailureKind, what = '', details: SourceFailure = {}) =>
    new SourceError(code, kind, `${target.label}: HTTP ${status}${way}${what}`, { ...details, status });
  if (status < 300) return refused('E_SOURCE_ANSWER', 'suspect', ', but only 200 has rows');
  if (status === 304) return refused('E_SOURCE_ANSWER', 'suspect', ', although the request was unconditional');
  if (status === 401 || status === 403) return refused('E_SOURCE_AUTH', 'permanent', ': the service refused the credentials');
  if (status === 407) return refused('E_SOURCE_PROXY', 'permanent', ': the proxy refused the credentials');
  if (status === 408 || status === 425 || status === 429 || status >= 500)
    return refused('E_SOURCE_UNAVAILABLE', 'transient', '', { retryAfterMs: retryAfterMs(retryAfter) });
  return refused('E_SOURCE_REFUSED', 'permanent', status < 400 ? ': a redirect, which is never followed' : '');
}

function tooLate(target: Target, event: string): SourceError {
  const message = `${target.label}: no response in time (${event})`;
  return new SourceError('E_SOURCE_UNAVAILABLE', 'transient', message, { systemCode: 'ETIMEDOUT' });
}

function bodyTooLarge(target: Target, maxPageBytes: number): SourceError {
  return new SourceError('E_SOURCE_LIMIT', 'permanent', `${target.label}: the response is larger than ${amountOf(maxPageBytes, 'byte')}`);
}

/** Error codes for refused certificates, and for servers that do not speak TLS. Another attempt cures neither. */
const certificateCodes = /^(?:CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH$|INVALID_CA$|INVALID_PURPOSE$)/;
const tlsCodes = /^(?:ERR_TLS_|ERR_SSL_|EPROTO$)/;

/** Returns the failure of a request without an answer: the system's error code and the host, and nothing else of the address. */
function networkFailure(label: string, url: string, proxy: string | undefined, thrown: unknown): SourceError {
  const systemCode = thrown instanceof RequestError ? thrown.code : 'UNKNOWN';
  const { host } = new URL(proxy ?? url);
  const where = `${proxy === undefined ? '' : `through the proxy ${host} `}(${systemCode} ${host})`;
  const permanent = (code: 'E_SOURCE_TLS' | 'E_SOURCE_REFUSED' | 'E_SOURCE_CONFIG', what: string) =>
    new SourceError(code, 'permanent', `${label}: ${what}`, { systemCode });
  if (certificateCodes.test(systemCode)) return permanent('E_SOURCE_TLS', `the certificate is not accepted ${where}`);
  if (tlsCodes.test(systemCode)) return permanent('E_SOURCE_TLS', `no TLS connection ${where}`);
  if (systemCode === 'ERR_INVALID_URL') return permanent('E_SOURCE_REFUSED', systemCode);
  if (systemCode === 'ERR_INVALID_PROTOCOL')
    return permanent('E_SOURCE_CONFIG', `the agent does not support this protocol (${systemCode})`);
  const what = thrown instanceof ReadError ? 'the response was cut off' : 'no connection';
  return new SourceError('E_SOURCE_UNAVAILABLE', 'transient', `${label}: ${what} ${where}`, { systemCode });
}

/** Every HTTP date begins with one; `Date.parse` alone accepts `-5` and `1.5` as dates. */
const dayName = /^\s*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/** Returns the milliseconds in a `Retry-After` header: seconds or an HTTP date (RFC 9110, 10.2.3); `undefined` if it is unreadable. */
export function retryAfterMs(header: string | undefined, now: number = Date.now()): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  if (!dayName.test(header)) return undefined;
  const date = Date.parse(header.trim().endsWith('GMT') ? header : `${header} GMT`);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Returns the authorities that Node trusts: given ones would replace them, so all must be listed together. */
function usualAuthorities(): readonly string[] {
  // Available from Node 22.15; the installed types are older.
  const { getCACertificates, rootCertificates }: typeof tls & { readonly getCACertificates?: (kind: 'default') => readonly string[] } = tls;
  if (getCACertificates) return getCACertificates('default');
  const extra = process.env.NODE_EXTRA_CA_CERTS;
  return extra ? [...rootCertificates, readFileSync(extra, 'utf8')] : rootCertificates;
}
