import { Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { got, TimeoutError, type OptionsInit, type Response } from 'got';
import { Observable } from 'rxjs';
import { amountOf, SourceError } from '../core/index.js';
import { maxTimerMs } from '../options/index.js';
import type { OwnAgents } from './agent.js';
import { usualAuthorities } from './usual-authorities.js';
import { networkFailure, type Way } from './network-failure.js';
import { retryAfterMs } from './retry-after.js';

/** What a transport needs; times in milliseconds, sizes in bytes after decompression. */
export interface TransportOptions {
  readonly baseUrl: string;
  /** Query parameters of every request: the credentials. */
  readonly query: Readonly<Record<string, string>>;
  /** Additional headers of every request: the credentials, if they are not parameters. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  /** Address of the proxy for requests. Default: none. */
  readonly proxy?: string | undefined;
  /** Certificates of authorities that are trusted in addition to the usual ones, in PEM. Default: none. */
  readonly ca?: readonly string[] | undefined;
  /** Agents of the caller, who closes them. Default: none. */
  readonly agent?: OwnAgents | undefined;
}

/** A path below the base URL with its own query parameters. */
export interface Target {
  readonly path: string;
  /** Its name in messages: host, path and page, but no credentials. */
  readonly label: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Replaces `query` where names may appear twice. */
  readonly parameters?: readonly [name: string, value: string][] | undefined;
  /** Sent in the header `x-leadstream-purpose`, unless it is `page`. */
  readonly purpose?: 'page' | 'probe' | undefined;
}

/** An answer with status 200, or with one that means "none": 204, and 404, which also means "not here". */
export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
  /** The `Link` header. */
  readonly link?: string | undefined;
}

/** @typeParam A Type of its answers. */
export interface Transport<A extends Answer = Answer> {
  /** Makes one request. Unsubscribing aborts it. */
  get(target: Target): Observable<A>;
  /** Closes the connections and resolves when they are gone. Call it only when nothing is subscribed any more. */
  close(): Promise<void>;
}

/** Creates a transport that sends requests to the service. */
export async function createTransport(options: TransportOptions): Promise<Transport> {
  const connections = { keepAlive: true, maxSockets: options.concurrency };
  if (options.proxy === undefined) {
    const { http = new HttpAgent(connections), https = new HttpsAgent(connections) } = options.agent ?? {};
    return new HttpTransport(options, { http, https });
  }
  const { proxyAgents } = await import('./proxy-agents.js');
  return new HttpTransport(options, proxyAgents(options.proxy, connections));
}

/**
 * The only user of got: GET, no redirects, no other protocol, no retries by got, a cap on the body, and one timer around everything that an attempt waits for.
 *
 * Errors of got carry the URL with its credentials, so none of them leaves this file, not even as a `cause`.
 */
class HttpTransport implements Transport {
  readonly #base: string;
  readonly #attemptMs: number;
  readonly #client: ReturnType<typeof clientOf>;

  constructor(
    private readonly options: TransportOptions,
    private readonly agents: Agents,
  ) {
    this.#base = options.baseUrl.replace(/\/+$/, '');
    this.#attemptMs = Math.min(2 * options.timeoutMs, maxTimerMs);
    this.#client = clientOf(this.agents, options);
  }

  get(target: Target): Observable<Answer> {
    return new Observable((subscriber) => {
      const abort = new AbortController();
      let settled = false;
      // The timers of got watch a request. They do not cover a connection that switched to another protocol.
      const timer = setTimeout(() => subscriber.error(tooLate(target, 'request')), this.#attemptMs);
      const fail = (failure: SourceError) => subscriber.error(failure);
      this.#request(target, abort.signal, fail).then(
        (response) => {
          settled = true;
          const failure = this.#failureIn(target, response);
          if (failure) return subscriber.error(failure);
          subscriber.next(answerOf(response));
          subscriber.complete();
        },
        (thrown: unknown) => {
          settled = true;
          fail(this.#thrown(target, thrown));
        },
      );
      return () => {
        clearTimeout(timer);
        // Aborting creates an error with its stack, some 30 µs; a finished request needs none.
        if (!settled) abort.abort();
      };
    });
  }

  async close(): Promise<void> {
    const { http, https, abandon } = this.agents;
    const { agent = {} } = this.options;
    const made = [http, https].filter((each) => each !== agent.http && each !== agent.https);
    const sockets = made.flatMap(({ sockets, freeSockets }) =>
      [sockets, freeSockets].flatMap((byHost) => Object.values(byHost).flatMap((those) => those ?? [])),
    );
    for (const each of made) each.destroy();
    abandon?.();
    await Promise.all(sockets.map((socket) => gone(socket)));
  }

  /** @param fail Called with anything that goes wrong before the answer arrives and would not end the request by itself. */
  #request(target: Target, signal: AbortSignal, fail: (failure: SourceError) => void) {
    const request = this.#client.get(`${this.#base}${target.path}`, {
      searchParams: target.parameters ? this.#parametersOf(target.parameters) : { ...target.query, ...this.options.query },
      signal,
      responseType: 'buffer',
      headers: target.purpose === 'probe' ? { 'x-leadstream-purpose': 'probe' } : {},
    });
    void request.on('request', (sent) => {
      // Anything that arrives on that connection from now on is not an answer, even if the server names no protocol.
      const leave = ({ statusCode = switching }: IncomingMessage, socket: Duplex) => {
        if (statusCode !== switching) return;
        socket.destroy();
        const failure = refusalOf(target, statusCode, undefined);
        if (failure) fail(failure);
      };
      sent.once('proxyConnect', ({ statusCode }: { readonly statusCode: number }) => {
        if (statusCode !== 200) fail(proxyRefusal(target, this.options.proxy, statusCode));
      });
      sent.once('upgrade', leave);
      sent.once('response', (answer: IncomingMessage) => leave(answer, answer.socket));
    });
    void request.on('downloadProgress', ({ transferred }) => {
      if (transferred > this.options.maxBodyBytes) fail(bodyTooLarge(target, this.options.maxBodyBytes));
    });
    return request;
  }

  #thrown(target: Target, thrown: unknown): SourceError {
    return thrown instanceof TimeoutError ? tooLate(target, thrown.event) : networkFailure(target.label, this.#way, thrown);
  }

  get #way(): Way {
    const { proxy } = this.options;
    return { host: new URL(this.#base).host, proxy: proxy === undefined ? undefined : new URL(proxy).host };
  }

  #parametersOf(parameters: readonly [string, string][]): URLSearchParams {
    return new URLSearchParams([...parameters, ...Object.entries(this.options.query)]);
  }

  #failureIn(target: Target, { statusCode, headers, body }: Response<Buffer>): SourceError | undefined {
    const refusal = refusalOf(target, statusCode, headers['retry-after']);
    return refusal ?? (body.length > this.options.maxBodyBytes ? bodyTooLarge(target, this.options.maxBodyBytes) : undefined);
  }
}

function answerOf({ statusCode, headers, body }: Response<Buffer>): Answer {
  return { status: statusCode, body, link: [headers.link].flat().join(', ') };
}

async function gone(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise((closed) => socket.once('close', closed));
}

/** Where connections come from. */
interface Agents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
  /** Gives up connections that are not open yet. */
  abandon?(): void;
}

function clientOf({ http, https }: Agents, { timeoutMs, headers, ca }: TransportOptions) {
  return got.extend({
    method: 'GET',
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    // A cached answer is no evidence about a list.
    headers: { ...headers, accept: 'application/json', 'cache-control': 'no-cache', 'user-agent': 'leadstream' },
    agent: { http, https },
    ...(ca && { https: { certificateAuthority: [...usualAuthorities(), ...ca] } }),
    timeout: { lookup: 5_000, connect: 10_000, secureConnect: 10_000, response: Math.min(timeoutMs, maxTimerMs) },
  } satisfies OptionsInit);
}

/** Status of a connection that switches to another protocol. */
const switching = 101;

function proxyRefusal(target: Target, proxy = '', status: number): SourceError {
  const message = `${target.label}: the proxy ${new URL(proxy).host} refused the connection: HTTP ${status}`;
  if (status >= 500) return new SourceError('E_SOURCE_UNAVAILABLE', 'transient', message, { status });
  return new SourceError('E_SOURCE_PROXY', 'permanent', message, { status });
}

function refusalOf(target: Target, status: number, retryAfter: string | undefined): SourceError | undefined {
  if (status === 200 || status === 204 || status === 404) return undefined;
  const message = `${target.label}: HTTP ${status}`;
  if (status < 300) return new SourceError('E_SOURCE_ANSWER', 'suspect', `${message}, but only 200 has rows`, { status });
  if (status === 304)
    return new SourceError('E_SOURCE_ANSWER', 'suspect', `${message}: not modified, although the request was unconditional`, {
      status,
    });
  if (status === 401 || status === 403)
    return new SourceError('E_SOURCE_AUTH', 'permanent', `${message}: the service refused the credentials`, { status });
  if (status === 407) return new SourceError('E_SOURCE_PROXY', 'permanent', `${message}: the proxy refused the credentials`, { status });
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    return new SourceError('E_SOURCE_UNAVAILABLE', 'transient', message, { status, retryAfterMs: retryAfterMs(retryAfter) });
  }
  const detail = status >= 300 && status < 400 ? `${message}: a redirect, which is never followed` : message;
  return new SourceError('E_SOURCE_REFUSED', 'permanent', detail, { status });
}

function tooLate(target: Target, event: string): SourceError {
  const message = `${target.label}: no response in time (${event})`;
  return new SourceError('E_SOURCE_UNAVAILABLE', 'transient', message, { systemCode: 'ETIMEDOUT' });
}

function bodyTooLarge(target: Target, maxBodyBytes: number): SourceError {
  return new SourceError('E_SOURCE_LIMIT', 'permanent', `${target.label}: the response is larger than ${amountOf(maxBodyBytes, 'byte')}`);
}
