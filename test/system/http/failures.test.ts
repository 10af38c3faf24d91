import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { lastValueFrom } from 'rxjs';
import { collections } from '../../../src/collections/index.js';
import {
  answer,
  endless,
  expectDiscreet,
  failedRead,
  failureOf,
  json,
  oddKey,
  list,
  ownServer,
  clientOf,
  clientFor,
  type Handler,
} from '../../support/odd-server.js';

const attempts = 4;

describe('transient failures', () => {
  test.each([408, 425, 429, 500, 503])('retries HTTP %d until the attempts are used up', async (status) => {
    const { error, requests, notices } = await failedRead(answer(status, `the key is ${oddKey}`));
    expect(error).toMatchObject({ code: 'E_SOURCE_UNAVAILABLE', kind: 'transient', status });
    expect(error.message).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/leads page 1: /);
    expect(error.message).toContain(`: HTTP ${status} (after 4 attempts)`);
    expect(requests).toBe(attempts);
    expect(notices.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  const cut: [string, Handler][] = [
    [
      'shorter than announced',
      (response) => response.writeHead(200, { 'content-length': '100' }).write('[{"lead_id"', () => response.destroy()),
    ],
    ['cut in the middle of chunks', (response) => response.writeHead(200).write('[{"lead_id"', () => response.destroy())],
    ['closed before its head', (response) => response.destroy()],
    ['not the gzip that it claims to be', answer(200, '[]', { 'content-encoding': 'gzip' })],
  ];
  test.each(cut)('retries an answer that is %s', async (_name, handler) => {
    const { error, requests } = await failedRead(handler);
    expect(error).toMatchObject({ code: 'E_SOURCE_UNAVAILABLE', kind: 'transient' });
    expect(requests).toBe(attempts);
  });

  test('waits for the end of an answer beyond the time in which it has to begin', async () => {
    const slowBody: Handler = (response) => {
      response.writeHead(200).write('[');
      setTimeout(() => response.end(']'), 500);
    };
    const [client, { requests }] = await clientFor(slowBody, { timeoutMs: 450 });
    expect(await lastValueFrom(list(client.reader(collections.leads), 1))).toEqual([]);
    expect(requests).toHaveLength(1);
  });
});

test.each([
  ['HTML', `<html>${oddKey}</html>`, 'not JSON in UTF-8'],
  ['Latin-1', Buffer.from('[{"lead_id":"1","city":"Zürich"}]', 'latin1'), 'not JSON in UTF-8'],
  ['UTF-16', Buffer.from('\ufeff[{"lead_id":"1"}]', 'utf16le'), 'not JSON in UTF-8'],
  ['UTF-16 without a mark', Buffer.from('[{"lead_id":"1"}]', 'utf16le').swap16(), 'not JSON in UTF-8'],
  ['NaN', `[{"lead_id":"1","city":"\\"NaN: ${oddKey}","age": NaN}]`, 'not JSON in UTF-8'],
  ['NDJSON', `{"lead_id":"1"}\n{"lead_id":"${oddKey}"}\n`, 'not JSON in UTF-8'],
  ['records of several lines, cut off', '[\n{"lead_id":"1"},\n', 'not JSON in UTF-8'],
  ['{"error": …}', JSON.stringify({ error: oddKey, code: 5 }), 'not an array but an object with the keys error, code'],
  ['an array of texts', JSON.stringify([oddKey]), 'an array that contains a string'],
  ['an array with null', '[{}, null]', 'an array that contains null'],
  ['an object whose keys are odd', JSON.stringify({ [oddKey]: 1, fine: 2 }), 'not an array but an object with the keys fine'],
])('a suspect answer of status 200 is tried three times, and its status, size and key names are told: %s', async (_name, body, what) => {
  const { error, requests } = await failedRead(answer(200, body));
  expect(error).toMatchObject({ code: 'E_SOURCE_ANSWER', kind: 'suspect', status: 200 });
  const size = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  expect(error.message).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/leads page 1: /);
  expect(error.message).toContain(`: HTTP 200 with ${size} bytes: ${what} (after 3 attempts)`);
  expect(requests).toBe(3);
});

describe('the encoding of an answer', () => {
  const rows = JSON.stringify(Array.from({ length: 50 }, (_, index) => ({ lead_id: String(index), city: 'Zürich' })));
  const stored = Buffer.from([0x01, 2, 0, 0xfd, 0xff, 0x5b, 0x5d]);
  const withTree = deflateRawSync(rows.replaceAll('Z', '~{}|'));

  test.each([
    ['identity', Buffer.from(rows)],
    ['GZIP', gzipSync(rows)],
    ['x-gzip', gzipSync(rows)],
    ['deflate', deflateSync(rows)],
    ['deflate', deflateRawSync(rows)],
    ['deflate', deflateRawSync(rows, { strategy: 4 })],
    ['deflate', withTree],
    ['deflate', stored],
    ['br', brotliCompressSync(rows)],
    ['gzip, gzip', gzipSync(gzipSync(rows))],
    ['deflate , identity,br', brotliCompressSync(deflateRawSync(rows))],
    ['gzip', Buffer.alloc(0)],
  ])('is undone: %s', async (encoding, body) => {
    const [client] = await clientFor(answer(body.length > 0 ? 200 : 404, body, { 'content-encoding': encoding }), {});
    expect(await lastValueFrom(client.reader(collections.leads).find('1'))).toHaveLength(body.length === 0 || body === stored ? 0 : 50);
  });

  test.each([
    ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), 'E_SOURCE_ANSWER', 'in the encoding zstd, which is not supported'],
    ['gzip, compress', gzipSync(rows), 'E_SOURCE_ANSWER', 'in the encoding compress, which is not supported'],
    ['constructor', gzipSync(rows), 'E_SOURCE_ANSWER', 'in the encoding constructor, which is not supported'],
    ['gzip', Buffer.from(rows), 'E_SOURCE_UNAVAILABLE', 'not the gzip that it claims to be (Z_DATA_ERROR)'],
    ['deflate', gzipSync(rows).subarray(0, 60), 'E_SOURCE_UNAVAILABLE', 'not the deflate that it claims to be (Z_DATA_ERROR)'],
    ['gzip', gzipSync(rows).subarray(0, 60), 'E_SOURCE_UNAVAILABLE', 'not the gzip that it claims to be (Z_BUF_ERROR)'],
    ['br', Buffer.from(rows), 'E_SOURCE_UNAVAILABLE', 'not the br that it claims to be (ERR__ERROR_FORMAT'],
  ])('%s is named where it cannot be undone', async (encoding, body, code, message) => {
    const { error } = await failedRead(answer(200, body, { 'content-encoding': encoding }));
    expect(error).toMatchObject({ code, message: expect.stringContaining(message) });
    await expect(failedRead(answer(503, body, { 'content-encoding': encoding }))).resolves.toMatchObject({ error: { status: 503 } });
  });
});

describe('a status that is not 200', () => {
  const rows = JSON.stringify([{ lead_id: '1' }]);

  test.each([201, 204, 205, 206, 299])('has no rows, whatever its body, and is no empty list (HTTP %d)', async (status) => {
    const { error, requests } = await failedRead(answer(status, rows, { 'content-range': 'rows 0-0/2' }));
    expect(error).toMatchObject({ code: 'E_SOURCE_ANSWER', kind: 'suspect', status });
    expect(error.message).toContain(`: HTTP ${status}`);
    expect(requests).toBe(3);
  });

  test.each([206, 203])('has no single record (HTTP %d)', async (status) => {
    const [client] = await clientFor(answer(status, rows), {});
    await expect(lastValueFrom(client.reader(collections.leads).find('1'))).rejects.toMatchObject({ code: 'E_SOURCE_ANSWER', status });
  });
});

const impatient = { timeoutMs: 30, retry: { attempts: 2, baseMs: 0 } };

test.each(endless)('an answer that never ends is given up: %s', async (_name, handler) => {
  const { error, notices } = await failedRead(handler, impatient);
  expect(error).toMatchObject({ code: 'E_SOURCE_UNAVAILABLE', kind: 'transient' });
  expect(error.message).toContain(': no response in time');
  expect(notices).toHaveLength(1);
});

describe('permanent failures', () => {
  test.each([
    ['E_SOURCE_AUTH', 77, [401, 403]],
    ['E_SOURCE_REFUSED', 69, [400, 404, 410]],
  ])('end at once with %s (exit %i) on HTTP %j', async (code, exit, statuses) => {
    for (const status of statuses) {
      const { error, requests } = await failedRead(answer(status, JSON.stringify({ error: oddKey })));
      expect(error).toMatchObject({ code, kind: 'permanent', status, exit });
      expect(requests).toBe(1);
    }
  });

  test.each([301, 303, 308])('follows no redirect (HTTP %d): the other host never gets the query', async (status) => {
    const other = await ownServer(json([]));
    const redirect: Handler = (response, url) => response.writeHead(status, { location: `${other.url}${url.pathname}${url.search}` }).end();
    const { error, requests } = await failedRead(redirect);
    expect(error).toMatchObject({ code: 'E_SOURCE_REFUSED', kind: 'permanent', status });
    expect(requests).toBe(1);
    expect(other.requests).toEqual([]);
  });
});

const nobody = 'http://127.0.0.1:1';
const cases: readonly (readonly [string, string, RegExp, Handler | string])[] = [
  ['a refused connection', 'ECONNREFUSED', /no connection \(ECONNREFUSED 127\.0\.0\.1:1\)/, nobody],
  ['a name that is none', 'ENOTFOUND', /no connection \(ENOTFOUND nowhere\.invalid\)/, 'http://nowhere.invalid'],
  ['no response in time', 'ETIMEDOUT', /no response in time \((?:request|response)\)/, () => {}],
];
test.each(cases)(
  'a failure of the network names the code of the system and the host, and holds nothing else: %s',
  async (_what, systemCode, message, handler) => {
    const { url } = await ownServer(typeof handler === 'string' ? answer(200) : handler);
    const baseUrl = typeof handler === 'string' ? handler : url;
    const [client] = clientOf({ baseUrl, timeoutMs: 300 });
    const error = await failureOf(client);
    expect(error).toMatchObject({ code: 'E_SOURCE_UNAVAILABLE', systemCode, message: expect.stringMatching(message) });
    expectDiscreet(error);
  },
);

describe('the size of an answer', () => {
  const body = (bytes: number): string => `[${' '.repeat(bytes - 2)}]`;

  test('may be exactly the largest', async () => {
    const [client] = await clientFor(answer(200, body(1000)), { maxPageBytes: 1000 });
    expect(await lastValueFrom(list(client.reader(collections.leads), 1))).toEqual([]);
  });

  test.each([
    ['one byte more', answer(200, body(1001))],
    ['one byte more after gzip', answer(200, gzipSync(body(1001)), { 'content-encoding': 'gzip' })],
    ['a gzip bomb', answer(200, gzipSync(body(100_000_000)), { 'content-encoding': 'gzip' })],
  ])('ends the read at once with E_SOURCE_LIMIT when it is %s', async (_name, handler) => {
    const { error, requests } = await failedRead(handler, { maxPageBytes: 1000 });
    expect(error).toMatchObject({ code: 'E_SOURCE_LIMIT', kind: 'permanent' });
    expect(error.message).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/leads page 1: /);
    expect(error.message).toContain(': the response is larger than 1,000 bytes');
    expect(requests).toBe(1);
  });
});
