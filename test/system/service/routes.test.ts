import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generate, startService, type RequestEntry, type Responder, type RunningService } from '../../../src/service/index.js';
import { account, alone, pair, rowsAt, rowsOf, small, withService } from './support.js';

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

  test.each(['POST', 'OPTIONS'])('answer 405 with Allow: GET to %s', async (method) => {
    for (const path of ['leads', 'leads/1', 'nowhere']) {
      const response = await fetch(`${service.url}/api/${path}?${alone}`, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('GET');
      expect(await response.json()).toEqual({ error: expect.any(String) });
    }
  });

  test.each(['api/nowhere', 'api/leads/1/2', 'api', 'leads', ''])('answer 404 with a JSON body to /%s', async (path) => {
    const response = await fetch(`${service.url}/${path}?${alone}`);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ error: expect.any(String) });
  });

  test.each(['page=0', 'page=-1', 'page=x', 'page=', 'page=1.5', 'page=1e2', 'limit=0', 'limit=-3', 'limit=ten', 'limit='])(
    'answer 400 with a JSON body to %s',
    async (query) => {
      const response = await fetch(`${service.url}/api/leads?${query}&${alone}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual({ error: expect.any(String) });
    },
  );
});

describe('the service', () => {
  test('answers HEAD as GET without a body', async () => {
    const response = await fetch(`${service.url}/api/users?${alone}`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  test('tells onRequest what was asked and how it ended, and no credential', async () => {
    const entries: RequestEntry[] = [];
    await withService({ onRequest: (entry) => entries.push(entry) }, async (logged) => {
      await fetch(`${logged.url}/api/leads?page=3&limit=700&${pair}`);
      await fetch(`${logged.url}/api/areacode/212?${pair}`, { headers: { 'x-leadstream-purpose': 'probe' } });
      await fetch(`${logged.url}/api/users?rest_api_key=wrong`);
    });
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
    await withService({ onRequest }, async (logged) => expect(await rowsAt(logged, 'users?limit=2')).toHaveLength(2));
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
