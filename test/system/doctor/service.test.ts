import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { diagnoseService, type Diagnosis } from '../../../src/doctor/index.js';
import { generate } from '../../../src/service/index.js';
import { cli } from '../../support/cli.js';
import type { Misbehaviour, Quirks } from '../../support/misbehaviour.js';
import { answer, json, ownServer, type Handler } from '../../support/odd-server.js';
import { service, serviceOf, testKey } from '../../support/services.js';
import { temporaryFolder, visible } from '../../support/temporary.js';

const source = generate({ leads: 1_207, bridges: 20, seed: 7 });
const fast = ['--rate-limit', '1000'];

/** Measures the service of an environment: exit code, and outcome and message by check. */
async function found(env: Readonly<Record<string, string>>, ...given: readonly string[]) {
  const parameters = given.includes('--rate-limit') ? given : [...fast, ...given];
  const cwd = await temporaryFolder();
  const { code, stdout, stderr } = await cli(['doctor', '--format', 'json', ...parameters], { cwd, env });
  const diagnosis: Diagnosis = JSON.parse(stdout);
  const told = Object.fromEntries(diagnosis.findings.map(({ check, outcome, message }) => [check, `${outcome}: ${message}`]));
  return { code, stdout, stderr, diagnosis, told, cwd };
}

/** How a service behaves, what the block says of it, and the checks that are not `ok`. */
const cases: readonly [quirks: Quirks, block: string, notes: Readonly<Record<string, string>>][] = [
  [{}, 'limit: 500', {}],
  [{ 'first-page': 0, 'not-found': 'null' }, 'first_page: 0\n  limit: 500', {}],
  [{ 'first-page': 0, 'repeat-last': true, cap: 60 }, 'first_page: 0\n  limit: 60', { limit: '60 is the cap', end_of_list: 'is repeated' }],
  [
    { cap: 45, 'refuse-over-cap': true, 'bare-record': true, 'not-found': '404', 'paged-links': true },
    'limit: 45',
    { limit: '45 is the cap' },
  ],
  [{ cap: 333, 'refuse-over-cap': true, 'areacode-path': 'singular', 'default-limit': 7 }, 'limit: 333', { limit: '333 is the cap' }],
  [
    { cap: 100, 'first-page': 0, 'unstable-order': 5 },
    'first_page: 0\n  limit: 100',
    { limit: '100 is the cap', order: 'or has no order' },
  ],
];

test.each(cases)('finds out %j, and its block makes a run complete', async (quirks, lines, notes) => {
  const from = await service(source, { quirks });
  const { code, diagnosis, told, cwd } = await found(from.env);
  const wanted = Object.entries(told).map(([check]) => [check, expect.stringContaining(notes[check] ?? 'ok: ')]);
  expect({ code, ...told }).toEqual({ code: 0, ...Object.fromEntries(wanted) });
  expect(diagnosis.block).toMatch(new RegExp(`\\n  ${lines}\\n$`));
  expect(diagnosis.requests).toBe(from.probes.length + from.requests.length);

  const to = 'to: [{ ndjson: { path: l.ndjson, columns: [lead_id] } }]';
  await writeFile(join(cwd, 'p.yaml'), `name: pasted\n${diagnosis.block}from: leads\n${to}\n`);
  const run = await cli(['run', 'p.yaml', '--set', 'service.end_wait=1ms'], { cwd, env: from.env });
  expect({ code: run.code, stderr: run.stderr }).toMatchObject({ code: 0 });
  const rows = new Set((await readFile(join(cwd, 'l.ndjson'), 'utf8')).trimEnd().split('\n'));
  expect(rows.size).toBe(source.leads.count);
});

test.each([600, 30])('measures pages that have %i rows whatever is asked for', async (size) => {
  const leads = Array.from({ length: 1_500 }, (_, index) => ({ lead_id: String(index + 1) }));
  const handler: Handler = (...asked) => {
    const [, { pathname, searchParams }] = asked;
    if (searchParams.get('rest_api_key') !== testKey) return answer(401, '{}')(...asked);
    if (!pathname.includes('/leads')) return json([])(...asked);
    const id = /leads\/(\d+)$/.exec(pathname)?.[1];
    const page = Number(searchParams.get('page') ?? 1);
    json(id === undefined ? leads.slice((page - 1) * size, page * size) : leads.filter(({ lead_id }) => lead_id === id))(...asked);
  };
  const { url } = await ownServer(handler);
  const { told, diagnosis } = await found({ LEADSTREAM_BASE_URL: url, LEADSTREAM_REST_API_KEY: testKey }, '--collection', 'leads');
  expect(told['limit']).toContain(size > 500 ? 'note: limit has no effect: a page has 600 rows' : 'note: 30 is the cap');
  expect(diagnosis.block).toContain(`  limit: ${Math.min(size, 500)}\n`);
});

test('shows what it requested, without credentials, identifiers and personal data, and gives a block to paste', async () => {
  const from = await service(source);
  const cwd = await temporaryFolder();
  const { code, stdout, stderr } = await cli(['doctor', ...fast], { cwd, env: from.env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: `measuring ${from.url} with at most 60 requests\n` });
  expect(stdout).toContain('ok       first page: page 1 is the first: page 0 has no other rows\n');
  expect(stdout).toMatch(new RegExp(`^ +GET ${from.url}/api/leads\\?page=0&limit=20 -> HTTP 400, \\d+ ms$`, 'm'));
  expect(stdout).toContain('/api/leads/{id} -> HTTP 200, ');
  expect(stdout).toMatch(
    /\nFor the pipeline file:\n\nservice:\n {2}base_url: \$\{LEADSTREAM_BASE_URL\}\n {2}auth:\n {4}rest_api_key: \$\{LEADSTREAM_REST_API_KEY\}\n {2}limit: 500\n$/,
  );
  const leads = Array.from({ length: 1_207 }, (_, index): Record<string, string> => JSON.parse(source.leads.row(index)));
  const values = leads
    .flatMap(({ lead_id, email, lastname }) => [lead_id, email, lastname])
    .filter((text) => text !== undefined && text.length > 3);
  expect(values.filter((value) => stdout.includes(value ?? ''))).toEqual([]);
  expect(stdout).not.toContain(testKey);
  expect(await visible(cwd)).toEqual([]);
});

test('keeps what a file says of its service, and measures the collections that it reads', async () => {
  const [from, cwd] = [await service(generate({ leads: 50, bridges: 300, seed: 3 }), { quirks: { cap: 40 } }), await temporaryFolder()];
  const given = 'base_url: "${MY_URL}", auth: { rest_api_key: "${MY_KEY}" }, timeout: 5s, first_page: 1, limit: 500, rate_limit: 300/s';
  await writeFile(join(cwd, 'p.yaml'), `name: p\nservice: { ${given} }\nfrom: bridges\nto: [{ stdout: {} }]\n`);
  const { code, stdout } = await cli(['doctor', 'p.yaml', ...fast], { cwd, env: { MY_URL: from.url, MY_KEY: testKey } });
  expect(code).toBe(0);
  expect(stdout).toContain('requests, at most 300/s; pages of bridges');
  const block = ['base_url: ${MY_URL}', 'auth:\n    rest_api_key: ${MY_KEY}', 'timeout: 5s', 'limit: 40', 'rate_limit: 300/s'];
  expect(stdout.endsWith(`\nservice:\n  ${block.join('\n  ')}\n`)).toBe(true);
  expect(from.probes.every((request) => request.startsWith('bridges'))).toBe(true);
});

test('finds the form of credentials that works where the given one does not', async () => {
  const key = 'key-of-the-user-1';
  const restApiKey = createHash('md5').update(key).digest('hex');
  const from = await service(source, { accounts: [{ restApiKey }] });
  const env = { LEADSTREAM_BASE_URL: from.url, LEADSTREAM_AUTHORIZED_UID: '7', LEADSTREAM_AUTHORIZED_REST_API_KEY: key };
  const { code, told, diagnosis } = await found(env);
  expect(code).toBe(0);
  expect(told['credentials']).toBe(
    "note: authorized_uid + authorized_rest_api_key is refused; rest_api_key, the user's key is refused; rest_api_key, the MD5 of the user's key works; a wrong key is refused",
  );
  expect(diagnosis.block).toContain('rest_api_key: ${LEADSTREAM_REST_API_KEY} # set it to the MD5 of authorized_rest_api_key');
  expect(JSON.stringify(diagnosis)).not.toMatch(new RegExp(`${restApiKey}|${key}`));
});

test.each<[string, Partial<Misbehaviour>, Record<string, string>]>([
  ['an account that is refused', { accounts: [{ restApiKey: 'another-key-12' }] }, { credentials: 'problem: rest_api_key is refused' }],
  ['HTML', { faults: ['html'] }, { reachable: 'not JSON in UTF-8 (after 3 attempts); check the network, and that base_url' }],
  ['404 everywhere', { faults: ['404'] }, { reachable: 'HTTP 404: no such collection under this base URL' }],
  ['a redirect', { faults: ['redirect=http://127.0.0.1:9'] }, { reachable: 'HTTP 302: a redirect, which is never followed' }],
  ['pages that are all the same', { quirks: { 'ignore-page': true } }, { first_page: 'problem: leads: page' }],
  ['400 past the end', { faults: ['400@page=8-'] }, { end_of_list: 'problem: ' }],
  ['a collection that is not there', { faults: ['404@collection=links'] }, { collections: 'problem: ' }],
  ['no row at all', {}, { collections: 'note: with rows: none; without rows: leads', first_page: 'unknown: not determined' }],
])('reports %s, fails with 76 and gives no block', async (name, options, expected) => {
  const from = name === 'no row at all' ? await serviceOf({ leads: [] }) : await service(source, options);
  const { code, told, diagnosis, stderr, stdout } = await found(from.env);
  expect({ code, block: diagnosis.block }).toEqual({ code: 76, block: undefined });
  expect(told).toMatchObject(Object.fromEntries(Object.entries(expected).map(([check, text]) => [check, expect.stringContaining(text)])));
  expect(stderr).toContain('E_SERVICE_UNKNOWN');
  expect(diagnosis.requests).toBeLessThanOrEqual(60);
  expect(stderr + stdout).not.toContain(testKey);
});

test.each([1, 2, 5])('does not guess about a list of %i rows', async (leads) => {
  const { code, told, diagnosis } = await found((await service(generate({ leads, bridges: 1, links: 1, users: 1, seed: 3 }))).env);
  expect({ code, ...told }).toMatchObject({ code: 0, limit: expect.stringContaining('a cap is not determined: leads has only') });
  expect(diagnosis.block).toContain('limit: 500');
});

test('notices a list that changes, and a service that checks no key', async () => {
  const changing = await service(source, { drift: { every: 1, changes: ['insert-head'], most: 60 } });
  expect((await found(changing.env, '--collection', 'leads')).told['order']).toContain('note: ');
  const { url } = await ownServer(json([{ lead_id: '1' }]));
  const { told } = await found({ LEADSTREAM_BASE_URL: url, LEADSTREAM_REST_API_KEY: testKey });
  expect(told['credentials']).toBe('note: rest_api_key works; a wrong key works, too: the service does not check credentials here');
});

test('gives up on a service without an answer, and redacts a key that an answer contains', async () => {
  const silent = await found({ LEADSTREAM_BASE_URL: 'http://127.0.0.1:9', LEADSTREAM_REST_API_KEY: testKey });
  expect(silent.told['reachable']).toMatch(
    /no connection \(ECONNREFUSED 127.0.0.1:9\).*; check the network, and that base_url is everything before \/api$/,
  );
  expect(silent.diagnosis.requests).toBe(3);
  const { url } = await ownServer(answer(200, JSON.stringify({ [testKey]: 'x' })));
  const { stdout, stderr } = await found({ LEADSTREAM_BASE_URL: url, LEADSTREAM_REST_API_KEY: testKey });
  expect(stdout + stderr).not.toContain(testKey);
});

test('sends no more than 60 requests, one at a time and at its pace', async () => {
  const starts: number[] = [];
  const from = await service(source, {
    quirks: { cap: 301, 'refuse-over-cap': true },
    faults: ['503=0@rate=0.4'],
    onRequest: () => void starts.push(performance.now()),
  });
  const { diagnosis } = await found(from.env, '--rate-limit', '100');
  expect(starts).toHaveLength(diagnosis.requests);
  expect(starts.length).toBeLessThanOrEqual(60);
  const [first = 0, last = 0] = [starts[0], starts.at(-1)];
  expect(last - first).toBeGreaterThanOrEqual((starts.length - 5) * 10);
});

test('is stopped by its signal', async () => {
  const stop = new AbortController();
  const from = await service(source, { onRequest: () => stop.abort(), faults: ['hang'] });
  const diagnosis = diagnoseService({ baseUrl: from.url, auth: { rest_api_key: testKey } }, { signal: stop.signal });
  await expect(diagnosis).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
});
