import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { loadCollections, type Diagnosis } from '../../../src/index.js';
import { generate, openOwnTables, startService } from '../../../src/service/index.js';
import { cli } from '../../support/cli.js';
import type { Handler } from '../../support/odd-server.js';
import {
  byCursor,
  byLink,
  byOffset,
  byPage,
  orders,
  ownEnv,
  ownKey,
  ownServer,
  ownText,
  send,
  slice,
  type Order,
} from '../../support/own-server.js';
import { everySecond } from '../../support/rung.js';
import { temporaryFolder } from '../../support/temporary.js';

const fast = ['--rate-limit', '1000', '--format', 'json'];

/** What doctor says of a pipeline file against a server, by check and collection, and what came of it. */
async function found(server: { readonly url: string }, text: string, path = '') {
  const [cwd, env] = [await temporaryFolder(), ownEnv(server, path)];
  await writeFile(join(cwd, 'p.yaml'), text);
  const { code, stdout, stderr } = await cli(['doctor', 'p.yaml', ...fast], { cwd, env });
  if (stdout === '') throw new Error(stderr);
  const diagnosis: Diagnosis = JSON.parse(stdout);
  const told = diagnosis.findings.map(({ check, collection, outcome, message }) => [
    collection === undefined ? check : `${check} of ${collection}`,
    `${outcome}: ${message}`,
  ]);
  return { code, stderr, diagnosis, told: Object.fromEntries(told) as Readonly<Record<string, string>>, cwd, env };
}

/** Serves only whoever has the key. */
const guarded =
  (handler: Handler): Handler =>
  (response, url, ...asked) =>
    url.searchParams.get('rest_api_key') === ownKey ? handler(response, url, ...asked) : send(response, { error: 'key' }, {}, 401);

/** Runs the file with the block in place of its own, and gives the numbers of the orders that came. */
async function readBack({ diagnosis, cwd, env }: Awaited<ReturnType<typeof found>>, text: string): Promise<readonly number[]> {
  const own = text.replace(/^service:\n(?: .*\n)*/m, `${diagnosis.block}`);
  await writeFile(join(cwd, 'pasted.yaml'), own);
  const { code, stderr } = await cli(['run', 'pasted.yaml', '--set', 'service.end_wait=1ms'], { cwd, env });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const lines = (await readFile(join(cwd, 'orders.ndjson'), 'utf8')).trimEnd().split('\n');
  return lines.map((line) => Number(JSON.parse(line).no)).sort((a, b) => a - b);
}

const cursor = `    path: /v2/orders
    key: [no]
    rows: /data/items
    paging: { scheme: cursor, next: /paging/next, param: cursor }`;
const link = `    path: /v2/orders
    key: [no]
    paging: { scheme: link }`;
const offset = `    path: /v2/orders
    key: [no]
    rows: /items
    paging: { scheme: offset, param: skip, limit: top }`;
const page = `    path: /v2/orders
    key: [no]
    paging: { scheme: page, param: p, limit: size }`;

const common = { reachable: 'ok', wrong_key: 'ok', credentials: 'ok', collections: 'ok' };

/** How a collection is served and declared, and what doctor says of it. */
const schemes: readonly [string, (rows: readonly Order[]) => Handler, string, Readonly<Record<string, string>>][] = [
  [
    'by cursor',
    byCursor,
    cursor,
    {
      'first_page of orders': 'ok: the list is at /data/items; the cursor at /paging/next leads to the rows after the first page',
      'limit of orders': 'note: 100 is the cap: limit=500 returns 100 rows, and more follow',
      'end_of_list of orders': 'ok: the list ends on page 4, which names no next page',
      concurrency: 'ok: orders: one request after another, regardless of concurrency',
    },
  ],
  [
    'by link',
    byLink,
    link,
    {
      'first_page of orders': 'ok: the response is the list; the link in the header Link leads to the rows after the first page',
      'end_of_list of orders': 'ok: the list ends on page 4',
    },
  ],
  [
    'by offset',
    byOffset,
    offset,
    {
      'first_page of orders': 'ok: the list is at /items; the parameter skip leads to the rows after the first page',
      'limit of orders': 'note: 100 is the cap: top=500 returns 100 rows, and more follow',
      'end_of_list of orders': 'ok: pages past the end are empty lists',
      concurrency: 'ok: responses per second: 1 in flight',
    },
  ],
];

test.each(everySecond(schemes))(
  'doctor measures a collection %s that a file declares, and its block makes a run exact',
  async (_how, handler, declared, expected) => {
    const [server, text] = [await ownServer(guarded(handler(orders(333)))), ownText(declared)];
    const diagnosed = await found(server, text);
    expect(diagnosed.told).toMatchObject(
      Object.fromEntries(
        Object.entries({ ...common, ...expected }).map(([check, message]) => [
          check,
          expect.stringMatching(new RegExp(`^${message.replaceAll(/[/()]/g, '\\$&')}`)),
        ]),
      ),
    );
    expect(diagnosed.told['order of orders']).toBe('ok: two pages of 100 rows had the same order when read twice');
    expect(diagnosed.told['latency of orders']).toMatch(/^ok: median of /);
    expect(diagnosed.diagnosis).toMatchObject({ measured: 'orders', ready: true, requests: server.requests.length });
    expect(diagnosed.diagnosis.block).toContain('  limit: 100\n');
    expect(diagnosed.diagnosis.block).not.toContain('first_page');
    expect(await readBack(diagnosed, text)).toEqual(orders(333).map(({ no }) => no));
  },
);

test.each<[number, string]>([
  [0, 'page 0 is the first: its rows differ from those of page 1'],
  [1, 'page 1 is the first; page 0 returns HTTP 400 (an object with the keys error)'],
])('doctor finds the first page of a collection that does not declare it: %i', async (first, message) => {
  const text = ownText(page);
  const diagnosed = await found(await ownServer(guarded(byPage(orders(333), first))), text);
  expect(diagnosed.told['first_page of orders']).toBe(
    `ok: ${message}; the response is the list; the parameter p leads to the rows after the first page`,
  );
  expect(diagnosed.diagnosis.block).toContain(`  first_page: ${first}\n`);
  expect(await readBack(diagnosed, text)).toHaveLength(333);
});

/** Cursors and pages that are not as they are declared. */
test.each<[string, Handler, string, Readonly<Record<string, string>>]>([
  [
    'another place of the list',
    byCursor(orders(333)),
    cursor.replace('/data/items', '/items'),
    {
      reachable:
        'problem: HTTP 200 (there is no list at /items; the response is an object with the keys data, paging): this is not what the file declares for orders',
    },
  ],
  [
    'another place of the cursor',
    byCursor(orders(333)),
    cursor.replace('/paging/next', '/paging/nxt'),
    {
      'first_page of orders':
        'problem: asked for 20 of its rows, the service returns them but nothing after: the cursor at /paging/nxt leads to no others',
    },
  ],
  [
    'another parameter of the cursor',
    byCursor(orders(333)),
    cursor.replace('param: cursor', 'param: after'),
    { 'first_page of orders': 'problem: the second page has the rows of the first: the service ignores the parameter after' },
  ],
  [
    'another key',
    byLink(orders(333).map(({ no, ...rest }) => ({ number: no, ...rest }))),
    link,
    { reachable: 'problem: HTTP 200 (orders: no record in the response has the key (no)): ' },
  ],
  [
    'a link to another origin',
    byLink(orders(333), () => 'https://elsewhere.example/v2/orders'),
    link,
    { reachable: 'problem: HTTP 200 (the link to the next page points to https://elsewhere.example, another origin; it was not followed)' },
  ],
  [
    'another first page',
    byPage(orders(333), 0),
    page.replace('limit: size', 'limit: size, first: 1'),
    { 'first_page of orders': 'problem: page 0 is the first, and the file declares first: 1; declare first: 0 in its paging' },
  ],
  [
    'an offset that counts pages',
    (response, url) => {
      const size = Number(url.searchParams.get('top'));
      send(response, { items: slice(orders(3_333), url, Number(url.searchParams.get('skip') ?? 0) * size, 'top').rows });
    },
    offset,
    {
      'first_page of orders':
        'unknown: not determined: the second page has other rows than those after the first; the parameter skip may count something else',
    },
  ],
  [
    'an end that is not declared',
    (response, url) => {
      const sent = slice(orders(333), url, Number(url.searchParams.get('skip') ?? 0), 'top');
      send(response, sent.rows.length === 0 ? {} : { items: sent.rows });
    },
    offset,
    {
      'end_of_list of orders':
        'problem: a page past the end returns HTTP 200 (there is no list at /items; the response is an object), which makes a run fail; declare end: empty_object',
    },
  ],
  [
    'a cursor on every page',
    (response, url) => {
      const sent = slice(orders(33), url, Number(url.searchParams.get('cursor') ?? 0));
      send(response, { data: { items: sent.rows }, paging: { next: String(sent.from + Math.max(1, sent.rows.length)) } });
    },
    cursor,
    { 'end_of_list of orders': 'problem: pages 2 and 3 have no rows, but each names a next page; declare end: empty_page' },
  ],
  [
    'cursors in a circle',
    (response, url) => {
      const sent = slice(orders(33), url, Number(url.searchParams.get('cursor') ?? 0));
      send(response, { data: { items: sent.rows }, paging: { next: String((sent.from + sent.rows.length) % 33) } });
    },
    cursor,
    { 'end_of_list of orders': 'problem: page 2 names the same next page as an earlier one; the list would never end' },
  ],
  [
    'a collection that is not there',
    (response) => send(response, { error: 'none' }, {}, 404),
    cursor,
    { reachable: 'problem: HTTP 404 (an object with the keys error): there is nothing at /v2/orders below base_url' },
  ],
  [
    'no rows',
    byCursor([]),
    cursor,
    { collections: 'note: without rows: orders', 'first_page of orders': 'unknown: not determined: orders has no rows' },
  ],
])('doctor tells of a collection with %s, and gives no block', async (_what, handler, declared, expected) => {
  const { code, diagnosis, told, stderr } = await found(await ownServer(guarded(handler)), ownText(declared));
  expect({ code, block: diagnosis.block, ready: diagnosis.ready }).toEqual({ code: 76, ready: false });
  for (const [check, message] of Object.entries(expected)) expect(told[check]).toContain(message);
  expect(stderr).toContain('E_SERVICE_UNKNOWN: ');
  expect(stderr + JSON.stringify(diagnosis)).not.toContain(ownKey);
});

test('doctor shows no cursor, and no value of a row', async () => {
  const declared = `    path: /v2/orders\n    key: [no]\n    paging: { scheme: cursor, last: email, param: after }`;
  const rows = orders(99).map(({ no, ...rest }) => ({ no, ...rest, email: `customer-${String(no).padStart(3, '0')}@example.com` }));
  const handler: Handler = (response, url) => {
    const after = url.searchParams.get('after');
    send(response, slice(rows, url, after === null ? 0 : rows.findIndex(({ email }) => email === after) + 1).rows);
  };
  const { diagnosis, told } = await found(await ownServer(guarded(handler)), ownText(declared));
  expect(told['first_page of orders']).toBe(
    'ok: the response is the list; the cursor in the field email leads to the rows after the first page',
  );
  expect(JSON.stringify(diagnosis)).toContain('/v2/orders?limit=20&{next}&rest_api_key=***');
  expect(JSON.stringify(diagnosis)).not.toContain('customer-');
});

test('doctor measures both a collection that every service has and one that the file declares, as the service gives it', async () => {
  const declared = `    path: /shop/orders
    key: [no]
    rows: /data/items
    undeclared: drop
    paging: { scheme: page, param: p, limit: size, first: 0 }`;
  const rest =
    'from: leads\nsteps: [{ join: { with: orders, on: { lead_id: no }, as: order, select: [total] } }]\nto: [{ ndjson: { path: orders.ndjson } }]';
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'p.yaml'), ownText(declared, rest));
  await writeFile(
    join(folder, 'orders.ndjson'),
    orders(777)
      .map((row) => `${JSON.stringify(row)}\n`)
      .join(''),
  );
  const env = ownEnv({ url: 'http://127.0.0.1' });
  const own = await openOwnTables(folder, await loadCollections('p.yaml', { env, cwd: folder }));
  const service = await startService({ source: generate({ leads: 700 }), own, accounts: [{ restApiKey: ownKey }] });
  try {
    const { code, told, diagnosis } = await found(service, ownText(declared, rest));
    expect({ code, measured: diagnosis.measured }).toEqual({ code: 0, measured: 'leads' });
    expect(told).toMatchObject({
      collections: 'ok: leads, orders: each has rows',
      first_page: expect.stringContaining('ok: page 1 is the first'),
      limit: expect.stringContaining('ok: limit=500 returns 500 rows'),
      'first_page of orders': expect.stringContaining(
        'ok: page 0 is the first: its rows differ from those of page 1; the list is at /data/items;',
      ),
      'limit of orders': expect.stringContaining('ok: size=500 returns 500 rows'),
      'end_of_list of orders': 'ok: pages past the end are empty lists',
      'order of orders': expect.stringContaining('ok: '),
    });
    expect(diagnosis.requests).toBeLessThanOrEqual(60);
    expect(diagnosis.block).toContain('  limit: 500\n');
    expect(diagnosis.block).toContain('  first_page: 1\n');
  } finally {
    await service.close();
  }
});

test('doctor lowers the limit for a collection that refuses the one of the service, and says where a first page has to be declared', async () => {
  const rest =
    'from: leads\nsteps: [{ join: { with: orders, on: { lead_id: no }, as: order, select: [total] } }]\nto: [{ ndjson: { path: orders.ndjson } }]';
  const leads = Array.from({ length: 700 }, (_, index) => ({ lead_id: String(index + 1) }));
  const handler =
    (first: number): Handler =>
    (response, url, ...asked) => {
      const [number, size] = [Number(url.searchParams.get('page') ?? 1), Number(url.searchParams.get('limit') ?? 30)];
      if (url.pathname === '/api/leads/1') return send(response, leads.slice(0, 1));
      if (url.pathname.startsWith('/api/leads/')) return send(response, []);
      if (url.pathname === '/api/leads') return send(response, number < 1 ? [] : leads.slice((number - 1) * size, number * size));
      if (Number(url.searchParams.get('size')) > 150) return send(response, { error: 'size' }, {}, 400);
      byPage(orders(777), first)(response, url, ...asked);
    };
  const one = await found(await ownServer(guarded(handler(1))), ownText(page, rest));
  expect(one.told).toMatchObject({
    limit: expect.stringContaining('ok: limit=500'),
    'limit of orders': expect.stringContaining('note: 100 is the cap: '),
  });
  expect(one.diagnosis.block).toContain('  limit: 100\n');
  const zero = await found(await ownServer(guarded(handler(0))), ownText(page, rest));
  expect(zero.told['first_page of orders']).toBe(
    'problem: page 0 is the first, and service.first_page is 1; declare first: 0 in its paging',
  );
  expect(zero.diagnosis.block).toBeUndefined();
});

test('doctor measures one answer that has all rows, and pages whose size nobody says', async () => {
  const whole = `    path: /v2/orders\n    key: [no]\n    rows: /items\n    paging: { scheme: none }`;
  const all = await found(await ownServer(guarded((response) => send(response, { items: orders(77) }))), ownText(whole));
  expect(all.told).toMatchObject({
    'first_page of orders': 'ok: the list is at /items; one response has all 77 rows',
    concurrency: 'ok: orders: one request after another, regardless of concurrency',
  });
  expect(all.diagnosis).toMatchObject({ ready: true, requests: 3 });
  const fixed = byPage(orders(1_555), 1);
  const pages = await found(
    await ownServer(guarded((response, url, ...asked) => (url.searchParams.set('size', '60'), fixed(response, url, ...asked)))),
    ownText(page.replace('limit: size', 'limit: none, first: 1')),
  );
  expect(pages.told).toMatchObject({
    'limit of orders': 'ok: no page size is sent; a page has 60 rows',
    'latency of orders': expect.stringMatching(/^ok: median of \d+ requests: 60 rows: \d+ ms$/),
  });
  expect(pages.diagnosis.ready).toBe(true);
});
