import type { ServerResponse } from 'node:http';
import { loadPipeline } from '../../src/plan/index.js';
import { runPipeline, type RunOptions } from '../../src/run/index.js';
import { startServer, type Handler, type OddServer } from './odd-server.js';
import { temporaryFolder } from './temporary.js';

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

const running: { close(): void }[] = [];

afterEach(() => {
  for (const server of running.splice(0)) server.close();
});

/** Starts a server with the given handler for one test. */
export async function ownServer(handler: Handler): Promise<OddServer> {
  const server = await startServer(handler);
  running.push(server);
  return server;
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

/** Runs a pipeline file against a server. */
export async function runOwn(
  server: OddServer,
  text: string,
  folder: string,
  { set, path, ...options }: RunOptions & { readonly set?: Readonly<Record<string, string>>; readonly path?: string } = {},
) {
  const pipeline = await loadPipeline({ text, file: 'p.yaml' }, { env: ownEnv(server, path), baseDir: folder, ...(set ? { set } : {}) });
  return runPipeline(pipeline, { stateDir: `${await temporaryFolder()}/state`, ...options });
}
