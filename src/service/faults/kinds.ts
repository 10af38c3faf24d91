import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { z } from 'zod';
import { LeadstreamError, zod } from '../../core/index.js';
import { maxTimerMs } from '../../options/index.js';
import { failure, json, type Answer, type Responder } from '../answer.js';
import { noSuch, oneOf, whole } from '../options.js';
import { bomb, cut, drip, hang, onBody, redirect, stall } from './wire.js';

/** One kind of fault: what it does, and how its value becomes a responder. */
interface Kind {
  readonly summary: string;
  readonly open: (value: string | undefined, name: string) => Responder;
}

/** Every kind of fault by its name; `STATUS` stands for any number from 400 to 599. */
export const faultKinds = {
  STATUS: kind('This status; =SECONDS or =date+SECONDS adds a Retry-After in that form', retryAfter, (delay, name) =>
    statusOf(Number(name), delay),
  ),
  hang: always('No response at all', hang),
  stall: kind('Half of the body, then silence', noValue, () => onBody(stall)),
  delay: kind(
    'The response after =MS milliseconds',
    () => whole(0, maxTimerMs),
    (ms) => async (facts, next) => {
      await wait(ms);
      return next(facts);
    },
  ),
  drip: kind(
    'The body at =BYTES per second',
    () => whole(1),
    (rate) => onBody((body, headers) => drip(body, headers, rate)),
  ),
  cut: kind('Half of the body, then the end: =length with a Content-Length, =chunked in chunks, =close with neither', cuts, (by) =>
    onBody((body, headers) => cut(body, headers, by)),
  ),
  html: always('An HTML page with 200', {
    ...json('<!doctype html><title>Maintenance</title><p>Back soon.</p>'),
    headers: { 'content-type': 'text/html' },
  }),
  'empty-body': always('No body, with 200', json('')),
  'empty-object': always('{}', json('{}')),
  'error-object': always('{"error":"…"} with 200', failure(200, 'the database is unavailable')),
  null: always('null', json('null')),
  'non-objects': always('A list of values that are not objects', json('["a",1,null,["b"]]')),
  'empty-list': always('[]', json('[]')),
  gzip: kind('The body in gzip, whether or not it is accepted', noValue, () =>
    onBody((body, headers) => ({
      ...json(new Uint8Array(gzipSync(body))),
      headers: { ...headers, 'content-encoding': 'gzip' },
    })),
  ),
  'gzip-bomb': kind(
    '[] with =MB megabytes of spaces in it, in gzip: about 1 KB each',
    () => whole(1),
    (size) => () => bomb(size),
  ),
  redirect: kind('302 to =ORIGIN, for example http://127.0.0.1:9, with path and query copied', origin, (target) => () => redirect(target)),
} as const satisfies Readonly<Record<string, Kind>>;

/**
 * Opens a kind of fault by its name or status.
 *
 * @throws {LeadstreamError} `E_USAGE` for an unknown kind, or a value that it does not take.
 */
export function openKind(name: string, value: string | undefined): Responder {
  try {
    const wanted = /^[45]\d\d$/.test(name) ? 'STATUS' : name;
    const found = Object.entries<Kind>(faultKinds).find(([known]) => known === wanted && name !== 'STATUS');
    if (found) return found[1].open(value, name);
  } catch (error) {
    if (error instanceof zod().ZodError) throw new LeadstreamError('E_USAGE', `fault ${name}: ${error.issues[0]?.message}`);
    throw error;
  }
  throw new LeadstreamError('E_USAGE', `fault: ${noSuch(name, Object.keys(faultKinds).slice(1), 'a status from 400 to 599, ')}`);
}

function kind<T>(summary: string, value: () => z.ZodType<T>, respond: (value: T, name: string) => Responder): Kind {
  return { summary, open: (given, name) => respond(value().parse(given), name) };
}

function always(summary: string, answer: Answer): Kind {
  return kind(summary, noValue, () => () => answer);
}

function statusOf(status: number, delay: string | undefined): Responder {
  return () => {
    const seconds = Number(delay?.replace('date+', ''));
    const date = new Date(Math.ceil(Date.now() / 1000 + seconds) * 1000);
    const value = delay?.startsWith('date+') ? date.toUTCString() : delay;
    return failure(status, 'injected fault', value === undefined ? {} : { 'retry-after': value });
  };
}

function noValue() {
  return zod().undefined('takes no value');
}

function retryAfter() {
  return zod()
    .string()
    .regex(/^(date\+)?\d+$/, 'needs a Retry-After like 2 or date+2, or none')
    .optional();
}

function cuts() {
  return oneOf(['length', 'chunked', 'close']);
}

function origin() {
  return zod()
    .string('needs an origin like http://127.0.0.1:9')
    .regex(/^https?:\/\/[^/@?#]+$/, 'needs an origin like http://127.0.0.1:9');
}
