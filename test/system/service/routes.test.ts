import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { accountsFromEnv, generate, startService } from '../../../src/service/index.js';
import type { RequestEntry, Responder, RunningService } from '../../../src/service/index.js';
import { account, alone, pair, rowsAt, rowsOf, small, served } from './support.js';

let service: RunningService;
beforeAll(async () => {
  service = await startService({ source: generate(small()), accounts: [account] });
});
afterAll(() => service.close());

const ids = { leads: 'lead_id', bridges: 'id', areacodes: 'area_code', areacode: 'area_code', links: 'id', users: 'uid' };

describe.each([
  ['authorized_uid and authorized_rest_api_key', pair],
  ['rest_api_key alone', alone],
])('with %s', (_, credentials) => {
  test.each(Object.keys(ids))('answers the list of /api/%s with an array of objects', async (path) => {
    const response = await fetch(`${service.url}/api/${path}?${credentials}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(rowsOf(await response.json()).length).toBeGreaterThan(0);
  });

  test.each(Object.entries(ids))('answers /api/%s/{%s} with the rows of that identifier', async (path, field) => {
    const [first] = await rowsAt(service, path);
    const response = await fetch(`${service.url}/api/${path}/${first?.[field]}?${credentials}`);
    const rows = rowsOf(await response.json());
    expect(rows).toContainEqual(first);
    expect(new Set(rows.map((row) => row[field]))).toEqual(new Set([first?.[field]]));
  });
});

test.each(['leads/1', 'areacodes/000', 'areacodes/2125', 'links/1', 'users/__proto__', 'leads/%E0%A4%A'])(
  'single records are an empty array when nothing matches: /api/%s',
  async (path) => {
    expect(await rowsAt(service, path)).toEqual([]);
  },
);

describe('refusals', () => {
  const wrong = [
    'authorized_uid=7',
    'authorized_uid=7&authorized_rest_api_key=other',
    'authorized_uid=8&authorized_rest_api_key=k-e-y',
    'rest_api_key=k-e-y',
    `authorized_uid=7&${alone}`,
  ];
  test.each(wrong)('answer 401 to the credentials "%s" and do not repeat them', async (credentials) => {
    const response = await fetch(`${service.url}/api/leads?${credentials}`);
    const body = await response.text();
    expect(response.status).toBe(401);
    expect(JSON.parse(body)).toEqual({ error: expect.any(String) });
    expect(body).not.toMatch(/k-e-y|other|md5-like/);
  });

  const pages = ['page=0', 'page=-1', 'page=x', 'page=', 'page=1.5', 'page=1e2', 'limit=0', 'limit=-3', 'limit=ten', 'limit='];

  test.each([
    [404, 'GET', ['api/nowhere', 'api/leads/1/2', 'api', 'leads', '']],
    [400, 'GET', pages.map((query) => `api/leads?${query}`)],
    [405, 'POST', ['api/leads', 'api/leads/1', 'api/nowhere']],
    [405, 'OPTIONS', ['api/leads', 'api/leads/1', 'api/nowhere']],
  ])('answer %i with a JSON body to %s %j', async (status, method, paths) => {
    for (const path of paths) {
      const response = await fetch(`${service.url}/${path}${path.includes('?') ? '&' : '?'}${alone}`, { method });
      expect([path, response.status, response.headers.get('allow')]).toEqual([path, status, status === 405 ? 'GET' : null]);
      expect(await response.json()).toEqual({ error: expect.any(String) });
    }
  });
});

describe('paging', () => {
  test('gives rows 501 to 1000 as page 2 of 500, the same ones every time', async () => {
    const page = await rowsAt(service, 'leads?page=2&limit=500');
    const singly = [];
    for (let number = 11; number <= 20; number += 1) singly.push(...(await rowsAt(service, `leads?page=${number}&limit=50`)));
    expect(page).toHaveLength(500);
    expect(singly).toEqual(page);
    expect(await rowsAt(service, 'leads?page=2&limit=500')).toEqual(page);
  });

  test('gives the same page from another service with the same seed', async () => {
    const page = await rowsAt(service, 'leads?page=2&limit=500');
    const twin = await served({});
    expect(await rowsAt(twin, 'leads?page=2&limit=500')).toEqual(page);
  });

  test('starts at page 1 with 30 rows when nothing is asked', async () => {
    expect(await rowsAt(service, 'leads')).toEqual(await rowsAt(service, 'leads?page=1&limit=30'));
    expect(await rowsAt(service, 'leads')).toHaveLength(30);
  });

  test('caps the limit at 500, for the place of later pages too', async () => {
    expect(await rowsAt(service, 'leads?limit=501')).toHaveLength(500);
    expect(await rowsAt(service, 'leads?page=2&limit=9999')).toEqual(await rowsAt(service, 'leads?page=2&limit=500'));
  });

  test('ends with a short page, and is empty past the end however far', async () => {
    expect(await rowsAt(service, 'leads?page=3&limit=500')).toHaveLength(200);
    expect(await rowsAt(service, 'leads?page=4&limit=500')).toEqual([]);
    expect(await rowsAt(service, 'leads?page=99999999999999999999&limit=500')).toEqual([]);
  });

  test.each(['links?page=2&limit=10', 'links?page=x&limit=0'])('is ignored by /api/%s, which returns all', async (path) => {
    expect(await rowsAt(service, path)).toHaveLength(60);
  });
});

const md5 = createHash('md5').update('k-e-y').digest('hex');

test.each([
  [[{ uid: '7', key: 'k-e-y' }], { [`rest_api_key=${md5}`]: 200 }],
  [[{ uid: '7', key: 'k-e-y', restApiKey: 'own' }], { [`rest_api_key=${md5}`]: 401, 'rest_api_key=own': 200 }],
  [
    [{ uid: '1', key: 'a' }, { uid: '2', key: 'b' }, { restApiKey: 'c' }],
    { 'authorized_uid=2&authorized_rest_api_key=b': 200, 'authorized_uid=1&authorized_rest_api_key=b': 401, 'rest_api_key=c': 200 },
  ],
])('the accounts %j: credentials are answered with %j', async (accounts, statuses) => {
  const { url } = await served({ accounts });
  for (const [query, status] of Object.entries(statuses))
    expect([query, (await fetch(`${url}/api/users?${query}`)).status]).toEqual([query, status]);
});

test('accounts come from the environment in both forms', () => {
  const two = { LEADSTREAM_AUTHORIZED_UID: '7', LEADSTREAM_AUTHORIZED_REST_API_KEY: 'k' };
  expect(accountsFromEnv(two)).toEqual([{ uid: '7', key: 'k' }]);
  expect(accountsFromEnv({ ...two, LEADSTREAM_REST_API_KEY: 'r' })).toEqual([{ uid: '7', key: 'k', restApiKey: 'r' }]);
  expect(accountsFromEnv({ LEADSTREAM_REST_API_KEY: 'r' })).toEqual([{ restApiKey: 'r' }]);
  expect(accountsFromEnv({ LEADSTREAM_REST_API_KEY: '' })).toEqual([]);
});

describe('the service', () => {
  test('answers HEAD as GET without a body', async () => {
    const response = await fetch(`${service.url}/api/users?${alone}`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  test('tells onRequest what was asked and how it ended, and no credential', async () => {
    const entries: RequestEntry[] = [];
    const logged = await served({ onRequest: (entry) => entries.push(entry) });
    await fetch(`${logged.url}/api/leads?page=3&limit=700&${pair}`);
    await fetch(`${logged.url}/api/areacode/212?${pair}`, { headers: { 'x-leadstream-purpose': 'probe' } });
    await fetch(`${logged.url}/api/users?rest_api_key=wrong`);

    const said = entries.map(({ sequence, collection, path, id, page, limit, purpose, query, status }) => {
      return [sequence, collection, path, id, page, limit, purpose, query, status];
    });
    expect(said).toEqual([
      [1, 'leads', '/api/leads', null, 3, 700, 'page', { page: '3', limit: '700' }, 200],
      [2, 'areacodes', '/api/areacode/212', '212', 1, 30, 'probe', {}, 200],
      [3, 'users', '/api/users', null, 1, 30, 'page', {}, 401],
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/rest_api_key|authorized/);
  });

  test.each<[string, () => unknown]>([
    ['throws', () => void JSON.parse('{')],
    ['rejects', async () => void (await Promise.reject(new Error('the disk is full')))],
  ])('answers although onRequest %s', async (_, onRequest) => {
    const logged = await served({ onRequest });
    expect(await rowsAt(logged, 'users?limit=2')).toHaveLength(2);
  });

  test.each([
    ['have ended', 600_000, 2],
    ['have had their time', 1, 0],
  ])('closes when the answers in flight %s', async (_, graceMs, rows) => {
    const gate = new EventEmitter();
    const responder: Responder = async (facts, next) => {
      gate.emit('asked');
      await once(gate, 'answer');
      return next(facts);
    };
    const closing = await startService({ source: generate(small()), accounts: [account], responders: [responder] });
    const asked = once(gate, 'asked');
    const answered = rowsAt(closing, 'users?limit=2').catch(() => []);
    await asked;
    const closed = closing.close({ graceMs });
    if (rows > 0) gate.emit('answer');
    await closed;
    expect(await answered).toHaveLength(rows);
  });

  test('closes although connections are kept alive, and twice', async () => {
    const closing = await startService({ source: generate(small()), accounts: [account] });
    await rowsAt(closing, 'users');
    await closing.close();
    await closing.close();
    await expect(fetch(closing.url)).rejects.toThrow();
  });

  test('refuses to start without an account, or on a port that is taken', async () => {
    const source = generate(small());
    await expect(startService({ source, accounts: [] })).rejects.toMatchObject({ code: 'E_USAGE' });
    await expect(startService({ source, accounts: [account], port: service.port })).rejects.toMatchObject({ code: 'E_USAGE' });
  });
});
