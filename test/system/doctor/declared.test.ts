import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Diagnosis } from '../../../src/doctor/index.js';
import { cli } from '../../support/cli.js';
import { byCursor, byLink, byOffset, byPage, orders, ownEnv, ownServer, ownText, send, slice } from '../../support/odd-server.js';
import type { Handler } from '../../support/odd-server.js';
import { temporaryFolder } from '../../support/temporary.js';

/** Measures what a pipeline file declares against a server: exit code, and outcomes and messages by check. */
async function found(handler: Handler, text: string) {
  const [cwd, server] = [await temporaryFolder(), await ownServer(handler)];
  await writeFile(join(cwd, 'p.yaml'), text);
  const parameters = ['doctor', 'p.yaml', '--rate-limit', '1000', '--format', 'json'];
  const { code, stdout, stderr } = await cli(parameters, { cwd, env: ownEnv(server, '') });
  if (stdout === '') throw new Error(stderr);
  const diagnosis: Diagnosis = JSON.parse(stdout);
  const told = Object.fromEntries(diagnosis.findings.map(({ check, outcome, message }) => [check, `${outcome}: ${message}`]));
  return { code, stdout, diagnosis, told, requests: server.requests.length };
}

const declared = (rest: string) => `    path: /v2/orders\n    key: [no]\n    ${rest}`;
const cursor = declared('rows: /data/items\n    paging: { scheme: cursor, next: /paging/next, param: cursor }');
const link = declared('paging: { scheme: link }');
const offset = declared('rows: /items\n    paging: { scheme: offset, param: skip, limit: top }');
const page = declared('paging: { scheme: page, param: p, limit: size }');

test.each<[string, Handler, string, string]>([
  ['by cursor', byCursor(orders(333)), cursor, 'pages of 10, 10, 10 rows; each names the next one, and the end was not reached'],
  ['by link', byLink(orders(15)), link, 'pages of 10, 5 rows; and then the list ends'],
  ['by offset', byOffset(orders(333)), offset, 'pages of 10, 10, 10 rows; pages past the end have no rows'],
  ['by page', byPage(orders(333), 0), page.replace('size', 'size, first: 0'), 'pages of 10, 10, 10 rows; pages past the end have no rows'],
  [
    'in one answer',
    (response) => send(response, { items: orders(77) }),
    offset.replace(/paging.*/, 'paging: { scheme: none }'),
    'pages of 77 rows; and then the list ends',
  ],
])('reads a list %s as declared', async (_how, handler, text, message) => {
  const { code, told, diagnosis, requests } = await found(handler, ownText(text));
  expect({ code, ...told }).toEqual({
    code: 0,
    reachable: 'ok: the service answers',
    credentials: expect.stringContaining('rest_api_key works'),
    declared_list: `ok: orders: ${message}`,
  });
  expect(diagnosis.requests).toBe(requests);
  // The block keeps what the file says.
  expect(diagnosis.block).toContain('\n  limit: 10\n');
});

/** Lists that are not as they are declared. */
test.each<[string, Handler, string, string, string]>([
  ['no cursor there', byCursor(orders(333)), cursor.replace('/paging/next', '/paging/nxt'), 'declared_list', 'without a cursor'],
  ['a link to another origin', byLink(orders(333), () => 'https://elsewhere.example/v2/orders'), link, 'reachable', 'another origin'],
  ['another first page', byPage(orders(333), 0), page, 'declared_list', 'page 0 has rows that page 1 does not have'],
  [
    'an end that is not declared',
    (response, url) => {
      const { rows } = slice(orders(333), url, Number(url.searchParams.get('skip') ?? 0), 'top');
      send(response, rows.length === 0 ? {} : { items: rows });
    },
    offset,
    'declared_list',
    'there is no list at /items; the response is an object',
  ],
  ['no rows', byCursor([]), cursor, 'declared_list', 'not determined, because it has no rows'],
])('reports a list with %s, and gives no block', async (_what, handler, text, check, message) => {
  const { code, told, diagnosis } = await found(handler, ownText(text));
  expect({ code, block: diagnosis.block, told: told[check] }).toEqual({
    code: 76,
    block: undefined,
    told: expect.stringContaining(message),
  });
});

test('shows no cursor, and no value of a row', async () => {
  const rows = orders(99).map((row) => ({ ...row, email: `customer-${String(row['no'])}@example.com` }));
  const handler: Handler = (response, url) => {
    const after = url.searchParams.get('after');
    send(response, slice(rows, url, after === null ? 0 : rows.findIndex(({ email }) => email === after) + 1).rows);
  };
  const { stdout, told } = await found(handler, ownText(declared('paging: { scheme: cursor, last: email, param: after }')));
  expect(told['declared_list']).toContain('ok: orders: pages of 10, 10, 10 rows');
  expect(stdout).not.toContain('customer-');
});

test('measures the service, and lowers its limit for a declared list that refuses it', async () => {
  const rest =
    'from: leads\nsteps: [{ join: { with: orders, on: { lead_id: no }, as: order, select: [total] } }]\nto: [{ ndjson: { path: orders.ndjson } }]';
  const leads = Array.from({ length: 700 }, (_, index) => ({ lead_id: String(index + 1) }));
  const handler: Handler = (response, url, ...asked) => {
    const [number, size] = [Number(url.searchParams.get('page') ?? 1), Number(url.searchParams.get('limit') ?? 30)];
    if (url.pathname === '/api/leads/1') return send(response, leads.slice(0, 1));
    if (url.pathname.startsWith('/api/leads/')) return send(response, []);
    if (url.pathname === '/api/leads') return send(response, number < 1 ? [] : leads.slice((number - 1) * size, number * size));
    if (Number(url.searchParams.get('size')) > 150) return send(response, { error: 'size' }, {}, 400);
    byPage(orders(777), 1)(response, url, ...asked);
  };
  const { code, told, diagnosis } = await found(handler, ownText(page, rest));
  expect({ code, measured: diagnosis.measured }).toEqual({ code: 0, measured: 'leads' });
  expect(told).toMatchObject({
    limit: expect.stringContaining('ok: limit=500'),
    declared_list: expect.stringContaining('ok: orders: pages of 10, 10, 10 rows'),
  });
  expect(diagnosis.block).toContain('  limit: 10\n');
});
