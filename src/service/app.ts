import type { ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono, type Context } from 'hono';
import { collectionNames, collections, type CollectionName } from '../collections/index.js';
import { authoriser, type Account } from './accounts.js';
import { failure, json, type Answerer, type RawAnswer, type RequestFacts } from './answer.js';
import { rowsEncoder } from './body.js';
import { ownPage, type OwnTable } from './own-tables.js';
import type { Paging } from './paging.js';
import type { RequestEntry } from './request-log.js';

/** What the application consists of. */
export interface AppOptions {
  readonly accounts: readonly Account[];
  readonly answer: Answerer;
  /** Collections that a user declared. */
  readonly own: readonly OwnTable[];
  /** Values of `page` and `limit` when a request does not set them. */
  readonly paging: Pick<Paging, 'firstPage' | 'defaultLimit'>;
  /** Called once per GET or HEAD on a collection's path, even if it is refused, before the answer is sent. */
  readonly onRequest: (entry: RequestEntry) => void;
}

/**
 * Creates the routes of the service as a Hono application for `@hono/node-server`.
 *
 * Refusals below `/api` come in this order: 401, 405, 404, 400. `page` and `limit` are read only if a list is paged.
 *
 * @throws {LeadstreamError} `E_USAGE` when there is no account.
 */
export function createApp({ accounts, answer, own, paging, onRequest }: AppOptions): Hono<Served> {
  const app = new Hono<Served>();
  const authorises = authoriser(accounts);
  const encode = rowsEncoder();
  let sequence = 0;

  const serve = async (c: Context<Served>, collection: CollectionName, path: string): Promise<Response> => {
    const facts = { collection, path, ...askedOf(c, paging), sequence: (sequence += 1) };
    const sent = authorises(c.req.query()) ? await answer(facts) : unauthorised;
    onRequest({ ...facts, status: sent.kind === 'rows' ? 200 : sent.status, fault: sent.fault });
    if (sent.kind === 'raw') return toResponse(sent);
    if (sent.kind === 'rows') sendNow(c.env.outgoing, encode(sent.rows));
    else sent.send(c.env.outgoing);
    return RESPONSE_ALREADY_SENT;
  };

  for (const table of own) {
    for (const path of table.collection.paths) {
      app.get(path, (c) => {
        if (!authorises(c.req.query())) return toResponse(unauthorised);
        const body = ownPage(table, c.req.query());
        return toResponse(body === undefined ? noPage : json(body));
      });
    }
  }
  for (const name of collectionNames) {
    for (const path of collections[name].paths) {
      app.get(`/api/${path}`, (c) => serve(c, name, path));
      app.get(`/api/${path}/:id`, (c) => serve(c, name, path));
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

/** Gives handlers access to the response of the socket. */
interface Served {
  Bindings: Pick<HttpBindings, 'outgoing'>;
}

const unauthorised = failure(401, 'credentials are missing or wrong');
const noPage = failure(400, 'page and limit must be whole numbers, at least the first page and at least 1');
const notFound = failure(404, 'there is nothing at this path');
const notAllowed = failure(405, 'only GET is supported', { allow: 'GET' });

function askedOf(c: Context, { firstPage, defaultLimit }: AppOptions['paging']): Pick<RequestFacts, 'id' | 'page' | 'limit' | 'purpose'> {
  const { page, limit } = c.req.query();
  return {
    id: c.req.param('id') ?? null,
    page: wholeNumber(page, firstPage),
    limit: wholeNumber(limit, defaultLimit),
    purpose: c.req.header('x-leadstream-purpose') === 'probe' ? 'probe' : 'page',
  };
}

function wholeNumber(text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

function toResponse({ status, headers, body }: RawAnswer): Response {
  return new Response(body, { status, headers });
}

/** Sends a list without the web `Response`, whose stream costs more than a page does. */
function sendNow(outgoing: ServerResponse, body: Uint8Array): void {
  outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  outgoing.end(body);
}
