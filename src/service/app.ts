import type { ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono, type Context } from 'hono';
import { collectionNames, collections, type CollectionName } from '../collections/index.js';
import { authoriser, type Account } from './accounts.js';
import {
  answerFrom,
  defaultLimit,
  failure,
  respondThrough,
  type Answer,
  type RawAnswer,
  type RequestFacts,
  type Responder,
} from './answer.js';
import { rowsEncoder } from './body.js';
import type { DataSource } from './source.js';

/** One line of the request log: what was asked on a collection's path and how it ended. Never a credential. */
export interface RequestEntry extends RequestFacts {
  /** HTTP status of the answer. */
  readonly status: number;
}

/** What the service serves, to whom, and who is told. */
export interface ServiceOptions {
  readonly source: DataSource;
  readonly accounts: readonly Account[];
  /** Called once per GET or HEAD on a collection's path, also when it is refused, before the answer is sent. */
  readonly onRequest?: (entry: RequestEntry) => void;
  /** Stand around the honest answer, the first one outermost; none by default. */
  readonly responders?: readonly Responder[];
}

/**
 * The routes of the service as a Hono application for `@hono/node-server`.
 *
 * Order of refusal below `/api`: 401, 405, 404, 400. A `page` or `limit` is read only where a list is paged.
 *
 * @throws {LeadstreamError} `E_USAGE` when there is no account.
 */
export function createApp({ source, accounts, onRequest, responders = [] }: ServiceOptions): Hono<Served> {
  const app = new Hono<Served>();
  const authorises = authoriser(accounts);
  const encode = rowsEncoder();
  const answer = respondThrough(responders, answerFrom(source));

  const serve = async (c: Context<Served>, collection: CollectionName): Promise<Response> => {
    const facts = factsOf(c, collection);
    const sent = authorises(c.req.query()) ? await answer(facts) : unauthorised;
    onRequest?.({ ...facts, status: statusOf(sent) });
    return sent.kind === 'raw' ? toResponse(sent) : sendNow(c.env.outgoing, encode(sent.rows));
  };

  for (const name of collectionNames) {
    for (const path of collections[name].paths) {
      app.get(`/api/${path}`, (c) => serve(c, name));
      app.get(`/api/${path}/:id`, (c) => serve(c, name));
    }
  }
  app.all('/api/*', (c) => {
    if (!authorises(c.req.query())) return toResponse(unauthorised);
    return toResponse(c.req.method === 'GET' || c.req.method === 'HEAD' ? notFound : notAllowed);
  });
  app.notFound(() => toResponse(notFound));
  app.onError(() => toResponse(failure(500, 'the service failed')));
  return app;
}

/** Handlers reach the socket's answer through these. */
interface Served {
  Bindings: Pick<HttpBindings, 'outgoing'>;
}

const unauthorised = failure(401, 'credentials are missing or wrong');
const notFound = failure(404, 'there is nothing at this path');
const notAllowed = failure(405, 'only GET is served', { allow: 'GET' });

function factsOf(c: Context, collection: CollectionName): RequestFacts {
  const { page, limit } = c.req.query();
  return { collection, id: c.req.param('id') ?? null, page: wholeNumber(page, 1), limit: wholeNumber(limit, defaultLimit) };
}

function wholeNumber(text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

function statusOf(answer: Answer): number {
  return answer.kind === 'rows' ? 200 : answer.status;
}

function toResponse({ status, headers, body }: RawAnswer): Response {
  return new Response(body, { status, headers });
}

/** Sends a list past the web `Response`, whose stream costs more than a page does. */
function sendNow(outgoing: ServerResponse, body: Uint8Array): Response {
  outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  outgoing.end(body);
  return RESPONSE_ALREADY_SENT;
}
