import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Answer, RawAnswer, Responder, WireAnswer } from '../answer.js';

const json = { 'content-type': 'application/json' };

/** Never answers. */
export const hang: WireAnswer = wire(0, () => {});

type Headers = RawAnswer['headers'];

/** Sends the body of a successful answer in its own way. A refusal, or an answer without a body at hand, passes unchanged. */
export function onBody(send: (body: Buffer, headers: Headers) => Answer): Responder {
  return async (facts, next) => {
    const answer = await next(facts);
    if (answer.kind === 'rows') return send(Buffer.from(`[${[...answer.rows].join(',')}]`), json);
    if (answer.kind === 'wire' || answer.status !== 200 || answer.body instanceof ReadableStream) return answer;
    return send(Buffer.from(answer.body), answer.headers);
  };
}

/** Sends half of the body and keeps the connection open. */
export function stall(body: Buffer, headers: Headers): WireAnswer {
  return wire(200, (outgoing) => {
    outgoing.writeHead(200, { ...headers, 'content-length': body.length }).write(firstHalf(body));
  });
}

/** Sends half of the body and ends the connection. Only with `close` does HTTP not show that something is missing. */
export function cut(body: Buffer, headers: Headers, by: 'length' | 'chunked' | 'close'): WireAnswer {
  return wire(200, (outgoing) => {
    if (by === 'close') outgoing.useChunkedEncodingByDefault = false;
    outgoing.writeHead(200, by === 'length' ? { ...headers, 'content-length': body.length } : { ...headers }).flushHeaders();
    if (by === 'close') outgoing.end(firstHalf(body));
    else outgoing.write(firstHalf(body), () => outgoing.destroy());
  });
}

/** Sends the whole body at `rate` bytes per second. */
export function drip(body: Buffer, headers: Headers, rate: number): WireAnswer {
  return wire(200, (outgoing) => {
    outgoing.writeHead(200, { ...headers, 'content-length': body.length });
    flow(slowly(body, rate), outgoing);
  });
}

/** Sends an empty list with `size` MiB of blanks inside, in gzip. It is never inflated here. */
export function bomb(size: number): WireAnswer {
  return wire(200, (outgoing) => {
    outgoing.writeHead(200, { ...json, 'content-encoding': 'gzip' });
    flow(blanks(size), outgoing);
  });
}

/** Sends a 302 to the same path and query on another host, credentials included. */
export function redirect(origin: string): WireAnswer {
  return wire(302, (outgoing) => {
    outgoing.writeHead(302, { location: `${origin}${outgoing.req.url ?? ''}` }).end();
  });
}

function wire(status: number, send: (outgoing: ServerResponse) => void): WireAnswer {
  return { kind: 'wire', status, send };
}

/** Ignores failures: the client may leave at any time. */
function flow(chunks: AsyncIterable<Buffer> | Iterable<Buffer>, outgoing: ServerResponse): void {
  pipeline(Readable.from(chunks), outgoing).catch(() => {});
}

async function* slowly(body: Buffer, rate: number): AsyncGenerator<Buffer> {
  const step = Math.max(1, Math.floor(rate / 20));
  for (let sent = 0; sent < body.length; sent += step) {
    yield body.subarray(sent, sent + step);
    await wait((1000 * step) / rate);
  }
}

/** Yields consecutive gzip members, so that one megabyte of blanks is compressed only once. */
function* blanks(size: number): Generator<Buffer> {
  const blank = gzipSync(Buffer.alloc(1 << 20, ' '));
  yield gzipSync('[');
  for (let sent = 0; sent < size; sent += 1) yield blank;
  yield gzipSync(']');
}

function firstHalf(body: Buffer): Buffer {
  return body.subarray(0, Math.ceil(body.length / 2));
}
