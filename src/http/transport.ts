import { Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import got, { MaxRedirectsError, ReadError, RequestError, TimeoutError, type OptionsInit } from 'got';
import { Observable } from 'rxjs';
import { SourceError } from '../core/index.js';
import { retryAfterMs } from './retry-after.js';

/** What a transport needs; times in milliseconds, sizes in bytes after decompression. */
export interface TransportOptions {
  readonly baseUrl: string;
  /** Query parameters of every request: the credentials. */
  readonly query: Readonly<Record<string, string>>;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
}

/** A path below the base URL with its own query parameters. */
export interface Target {
  readonly path: string;
  /** What messages call it: no credentials, but host, path and page. */
  readonly label: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Said in the header `x-leadstream-purpose`, unless it is `page`. */
  readonly purpose?: 'page' | 'probe' | undefined;
}

/** An answer of status 200, or one of those that mean "none": 204, and 404, which also means "not here". */
export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
}

/** @typeParam A What it says of an answer besides. */
export interface Transport<A extends Answer = Answer> {
  /** One request. Unsubscribing aborts it. */
  get(target: Target): Observable<A>;
  /** Closes idle connections. */
  close(): void;
}

/** The longest time that a timer of Node can wait; a longer one fires at once. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * The only user of got: GET, no redirects, no other protocol, no retry of its own, a cap on the body, and one timer around
 * everything that an attempt waits for.
 *
 * Errors of got carry the URL with its credentials, so none of them leaves this file, not even as a `cause`.
 */
export function createTransport(options: TransportOptions): Transport {
  const agents = {
    http: new HttpAgent({ keepAlive: true, maxSockets: options.concurrency }),
    https: new HttpsAgent({ keepAlive: true, maxSockets: options.concurrency }),
  };
  const base = options.baseUrl.replace(/\/+$/, '');
  const attemptMs = Math.min(2 * options.timeoutMs, maxTimerMs);
  const timeout = { lookup: 5_000, connect: 10_000, secureConnect: 10_000, response: Math.min(options.timeoutMs, maxTimerMs) };
  const client = got.extend({
    method: 'GET',
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    // What a cache holds of a list is no evidence for it.
    headers: { accept: 'application/json', 'cache-control': 'no-cache', 'user-agent': 'leadstream' },
    agent: agents,
    timeout,
  } satisfies OptionsInit);

  return {
    get: (target) =>
      new Observable((subscriber) => {
        const abort = new AbortController();
        let settled = false;
        // The timers of got watch a request; of a connection that became another one they know nothing.
        const timer = setTimeout(() => subscriber.error(tooLate(target, 'request')), attemptMs);
        const request = client.get(`${base}${target.path}`, {
          searchParams: { ...target.query, ...options.query },
          signal: abort.signal,
          responseType: 'buffer',
          headers: target.purpose === 'probe' ? { 'x-leadstream-purpose': 'probe' } : {},
        });
        void request.on('request', (sent) => {
          // Whatever comes on that connection from now on is no answer, also where the server names no protocol.
          const leave = ({ statusCode = switching }: IncomingMessage, socket: Duplex) => {
            if (statusCode !== switching) return;
            socket.destroy();
            subscriber.error(refusalOf(target, statusCode, undefined));
          };
          sent.once('upgrade', leave);
          sent.once('response', (answer: IncomingMessage) => leave(answer, answer.socket));
        });
        void request.on('downloadProgress', ({ transferred }) => {
          if (transferred > options.maxBodyBytes) subscriber.error(bodyTooLarge(target, options.maxBodyBytes));
        });
        request.then(
          ({ statusCode, headers, body }) => {
            settled = true;
            const refusal = refusalOf(target, statusCode, headers['retry-after']);
            if (refusal) return subscriber.error(refusal);
            if (body.length > options.maxBodyBytes) return subscriber.error(bodyTooLarge(target, options.maxBodyBytes));
            subscriber.next({ status: statusCode, body });
            subscriber.complete();
          },
          (thrown: unknown) => {
            settled = true;
            subscriber.error(failureOf(target, thrown));
          },
        );
        return () => {
          clearTimeout(timer);
          // Aborting makes an error with its stack, some 30 µs; one that is over needs none.
          if (!settled) abort.abort();
        };
      }),
    close: () => {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

/** The status of a connection that becomes one of another protocol. */
const switching = 101;

function refusalOf(target: Target, status: number, retryAfter: string | undefined): SourceError | undefined {
  if (status === 200 || status === 204 || status === 404) return undefined;
  const message = `${target.label}: HTTP ${status}`;
  if (status < 300) return new SourceError('E_SOURCE_ANSWER', 'suspect', `${message}, and only 200 has rows`, { status });
  if (status === 304)
    return new SourceError('E_SOURCE_ANSWER', 'suspect', `${message}: not modified, which is no answer where no condition was asked`, {
      status,
    });
  if (status === 401 || status === 403)
    return new SourceError('E_SOURCE_AUTH', 'permanent', `${message}: the service refused the credentials`, { status });
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    return new SourceError('E_SOURCE_UNAVAILABLE', 'transient', message, { status, retryAfterMs: retryAfterMs(retryAfter) });
  }
  const detail = status >= 300 && status < 400 ? `${message}: a redirect, which is never followed` : message;
  return new SourceError('E_SOURCE_REFUSED', 'permanent', detail, { status });
}

function tooLate(target: Target, event: string): SourceError {
  return new SourceError('E_SOURCE_UNAVAILABLE', 'transient', `${target.label}: no answer in time (${event})`);
}

function bodyTooLarge(target: Target, maxBodyBytes: number): SourceError {
  return new SourceError('E_SOURCE_LIMIT', 'permanent', `${target.label}: the answer is larger than ${maxBodyBytes} bytes`);
}

/** Codes of certificates that are not accepted, and of servers that do not speak TLS; another attempt heals neither. */
const certificateCodes = /^(?:CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH$|INVALID_CA$|INVALID_PURPOSE$)/;
const tlsCodes = /^(?:ERR_TLS_|EPROTO$)/;

function failureOf(target: Target, thrown: unknown): SourceError {
  if (thrown instanceof TimeoutError) return tooLate(target, thrown.event);
  const code = thrown instanceof RequestError ? thrown.code : 'unknown failure';
  if (certificateCodes.test(code))
    return new SourceError('E_SOURCE_TLS', 'permanent', `${target.label}: the certificate is not accepted (${code})`);
  if (tlsCodes.test(code)) return new SourceError('E_SOURCE_TLS', 'permanent', `${target.label}: no TLS connection (${code})`);
  if (thrown instanceof MaxRedirectsError || code === 'ERR_INVALID_URL') {
    return new SourceError('E_SOURCE_REFUSED', 'permanent', `${target.label}: ${code}`);
  }
  const place = thrown instanceof ReadError ? 'the answer was cut' : 'no connection';
  return new SourceError('E_SOURCE_UNAVAILABLE', 'transient', `${target.label}: ${place} (${code})`);
}
