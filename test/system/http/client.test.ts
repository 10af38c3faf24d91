import { jest } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { collections } from '../../../src/collections/index.js';
import { createClient, type ClientOptions } from '../../../src/source/fetch/client.js';
import { generate, startService, type RequestEntry } from '../../../src/service/index.js';
import { closeAfter } from '../../support/closing.js';
import { answer, inTurn, json, list, oddKey, ownServer, clientOf, clientFor, type Handler } from '../../support/odd-server.js';

const account = { uid: '7', key: 'pair key', restApiKey: oddKey };
const source = generate({ leads: 70, bridges: 5, links: 40, users: 6, seed: 3 });

/** A service for one test, and what it was asked. */
async function served() {
  const log: RequestEntry[] = [];
  const { url: baseUrl } = closeAfter(await startService({ source, accounts: [account], onRequest: (entry) => log.push(entry) }));
  return { baseUrl, log };
}

describe('list', () => {
  test('asks for 30 rows a page by itself and for the limit that is set', async () => {
    const { baseUrl, log } = await served();
    for (const [page, options] of [[3], [2, { limit: 20 }]] as const) {
      const [client] = clientOf({ baseUrl, ...options });
      await lastValueFrom(list(client.reader(collections.leads), page));
    }
    expect(log.map(({ page, limit }) => [page, limit])).toEqual([
      [3, 30],
      [2, 20],
    ]);
  });

  test('sends no page parameters for links, whose list has no pages', async () => {
    const [client, { requests }] = await clientFor(json([]));
    await lastValueFrom(list(client.reader(collections.links), 1));
    expect([...(requests[0]?.searchParams.keys() ?? [])]).toEqual(['rest_api_key']);
  });

  test.each(['', '/', '///'])('reads below a base URL with a path that ends in "%s"', async (end) => {
    const { url, requests } = await ownServer(json([]));
    const [client] = clientOf({ baseUrl: `${url}/v1/data${end}` });
    await lastValueFrom(list(client.reader(collections.users), 1));
    expect(requests[0]?.pathname).toBe('/v1/data/api/users');
  });
});

describe('find', () => {
  const found = async (body: Handler) => {
    const [client] = await clientFor(body);
    return lastValueFrom(client.reader(collections.users).find('5'));
  };
  const user = { uid: '5', email: 'a@b.c', affid: '1' };

  test('reads the record of an identifier', async () => {
    const [client] = clientOf({ baseUrl: (await served()).baseUrl });
    const [lead] = await lastValueFrom(list(client.reader(collections.leads), 1));
    expect(await lastValueFrom(client.reader(collections.leads).find(lead?.lead_id ?? ''))).toEqual([lead]);
  });

  test('reads all entries of an area code', async () => {
    const [client] = clientOf({ baseUrl: (await served()).baseUrl, limit: 1 });
    const [entry] = await lastValueFrom(list(client.reader(collections.areacodes), 1));
    const entries = await lastValueFrom(client.reader(collections.areacodes).find(entry?.area_code ?? ''));
    expect(entries.length).toBeGreaterThan(1);
    expect(new Set(entries.map(({ area_code }) => area_code))).toEqual(new Set([entry?.area_code]));
  });

  test('takes an array of one', async () => expect(await found(json([user]))).toEqual([user]));
  test('takes a bare object', async () => expect(await found(json(user))).toEqual([user]));

  test.each([
    ['[]', answer(200, '[]')],
    ['{}', answer(200, '{}')],
    ['null', answer(200, 'null')],
    ['an empty body', answer(200)],
    ['204', answer(204)],
    ['404', answer(404, 'not here')],
    ['404 with JSON', answer(404, '{"error":"not here"}')],
  ])('takes %s for "none"', async (_name, handler) => {
    expect(await found(handler)).toEqual([]);
  });

  test('takes {"error":…} of status 200 for no record', async () => {
    await expect(found(json({ error: 'no' }))).rejects.toMatchObject({ code: 'E_SOURCE_ANSWER', kind: 'suspect' });
  });

  test.each(['', '.', '..', '...', '\ud800'])('never sends the identifier %j', async (id) => {
    const { baseUrl, log } = await served();
    const [client] = clientOf({ baseUrl });
    await expect(lastValueFrom(client.reader(collections.leads).find(id))).rejects.toMatchObject({ code: 'E_SOURCE_REFUSED' });
    expect(log).toEqual([]);
  });

  test.each(['a/b', 'ü', '%2e', '%2e%2e', '../users', 'a?b#c', 'a b+c', '..\\', '😀'])(
    'sends %j as one segment of the path',
    async (id) => {
      const { baseUrl, log } = await served();
      const [client] = clientOf({ baseUrl });
      expect(await lastValueFrom(client.reader(collections.leads).find(id))).toEqual([]);
      expect(log).toMatchObject([{ id, collection: 'leads' }]);
    },
  );
});

describe('the two paths of area codes', () => {
  const entry = { area_code: '212', city: 'New York', state: 'NY' };
  const singular: Handler = (response, url, attempt, request) =>
    (/^\/api\/areacode(?:$|\/)/.test(url.pathname) ? json([entry]) : answer(404))(response, url, attempt, request);

  test('falls back to the singular on 404 and remembers it', async () => {
    const [client, { requests }] = await clientFor(singular);
    for (const page of [1, 2]) expect(await lastValueFrom(list(client.reader(collections.areacodes), page))).toMatchObject([entry]);
    expect(await lastValueFrom(client.reader(collections.areacodes).find('212'))).toMatchObject([entry]);
    const paths = requests.map(({ pathname }) => pathname);
    expect(paths).toEqual(['/api/areacodes', '/api/areacode', '/api/areacode', '/api/areacode/212']);
  });

  test('stays with the plural once it answered', async () => {
    const [client, { requests }] = await clientFor(inTurn(json([entry]), answer(404)));
    await lastValueFrom(list(client.reader(collections.areacodes), 1));
    expect(await lastValueFrom(client.reader(collections.areacodes).find('999'))).toEqual([]);
    expect(requests.map(({ pathname }) => pathname)).toEqual(['/api/areacodes', '/api/areacodes/999']);
  });

  test('refuses the list when neither path is there', async () => {
    const [client] = await clientFor(answer(404));
    const listed = lastValueFrom(list(client.reader(collections.areacodes), 1));
    await expect(listed).rejects.toMatchObject({ code: 'E_SOURCE_REFUSED', status: 404, kind: 'permanent' });
  });
});

const isShort = (field: string) => `auth: ${field} is shorter than 8 characters, so it cannot be a key; check where it is set`;
const isNoProxy = 'proxy must be the address of an HTTP proxy, like http://proxy.example:3128, with %';

test.each<[string, Partial<ClientOptions>]>([
  ['user info', { baseUrl: `http://u:${encodeURIComponent(oddKey)}@host` }],
  ['query', { baseUrl: `http://host/?a=${encodeURIComponent(oddKey)}` }],
  ['fragment', { baseUrl: 'http://host/#top' }],
  ['http or https', { baseUrl: 'ftp://host' }],
  ['http or https', { baseUrl: '' }],
  [isShort('rest_api_key'), { auth: { rest_api_key: 'short12' } }],
  [isShort('rest_api_key'), { auth: { rest_api_key: '' } }],
  [isShort('authorized_rest_api_key'), { auth: { authorized_uid: 'long-enough-for-a-key', authorized_rest_api_key: '7' } }],
  [isNoProxy, { proxy: 'proxy.example' }],
  [isNoProxy, { proxy: `socks5://reader:${encodeURIComponent(oddKey)}@x` }],
  ['ca must be PEM certificates, as a text or a list of texts; for a file, pass its contents', { ca: '/etc/ssl/own.pem' }],
])('an option that cannot be right is refused at once, and not repeated: %s: %j', (message, options) => {
  const attempt = () => createClient({ baseUrl: 'http://127.0.0.1:1', auth: { rest_api_key: oddKey }, ...options });
  expect(attempt).toThrow(expect.objectContaining({ code: 'E_SOURCE_CONFIG', exit: 78, message: expect.stringContaining(message) }));
  expect(attempt).not.toThrow(/k%2B/);
});

test('a client whose thread cannot be there, as beside TypeScript source, says so once and reads all the same', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const { url } = await ownServer(json([{ lead_id: '1' }]));
  for (let times = 0; times < 2; times += 1) {
    const [client] = clientOf({ baseUrl: url, threads: 1 });
    expect(await lastValueFrom(list(client.reader(collections.leads), 1))).toHaveLength(1);
  }
  expect(warn.mock.calls).toEqual([
    [expect.stringContaining('threads: 1 needs the file fetching-worker.cjs'), { type: 'LeadstreamThreadWarning', code: 'W_THREADS' }],
  ]);
  warn.mockRestore();
});
