import { get, type IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { generate, startService, type RunningService, type FaultSpec } from '../../../src/service/index.js';
import { account, alone, ask, requestsOf, rowsAt, small, withService } from './support.js';

interface Wire {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** Whether the connection ended before the body was complete, as HTTP tells. */
  readonly cut: boolean;
}

/** What arrives of a page of leads, byte by byte; `waitMs` ends it when nothing else does. */
function onWire({ url }: RunningService, waitMs = 5000): Promise<Wire> {
  return new Promise((resolve, reject) => {
    let arrived = false;
    const request = get(`${url}/api/leads?limit=5&${alone}`, { signal: AbortSignal.timeout(waitMs), agent: false }, (answer) => {
      arrived = true;
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', () => {});
      answer.on('close', () => {
        resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks), cut: !answer.complete });
      });
    });
    request.on('error', (error) => (arrived ? undefined : reject(error)));
  });
}

/** Runs a test against a service with faults, beside what the page holds without them. */
async function withFault(fault: FaultSpec, check: (service: RunningService, honest: Buffer) => Promise<void>): Promise<void> {
  await withService({ faults: [`${fault}@requests=2-`] }, async (service) => check(service, (await onWire(service)).body));
}

/** Statuses of pages 1 to `count` of leads. */
async function statuses(service: RunningService, count: number): Promise<readonly number[]> {
  const seen = [];
  for (let page = 1; page <= count; page += 1) seen.push((await ask(service, `leads?page=${page}`)).status);
  return seen;
}

describe('kinds of faults', () => {
  test.each([400, 403, 429, 500, 503, 599])('%d is that status with a JSON body', async (status) => {
    await withFault(String(status), async (service) => {
      const answer = await ask(service, 'leads');
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, null]);
      expect(await answer.json()).toEqual({ error: expect.any(String) });
    });
  });

  test('429=3 has a Retry-After of seconds, 503=date+3 one of an HTTP date', async () => {
    await withFault('429=3', async (service) => expect((await ask(service, 'leads')).headers.get('retry-after')).toBe('3'));
    await withFault('503=date+3', async (service) => {
      const before = Date.now();
      const value = (await ask(service, 'leads')).headers.get('retry-after') ?? '';
      expect(value).toMatch(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
      expect(Date.parse(value)).toBeGreaterThanOrEqual(before + 3000);
      expect(Date.parse(value)).toBeLessThan(Date.now() + 4000);
    });
  });

  test('hang never answers, and does not keep the service from closing', async () => {
    await withService({ faults: ['hang@collection=leads'] }, async (service) => {
      await expect(onWire(service, 300)).rejects.toMatchObject({ name: 'AbortError' });
      onWire(service).catch(() => {});
      // The service takes up what is sent to it in turn, so it has the request above when it has answered the next.
      await ask(service, 'users');
    });
  });

  test('stall sends half of the body and no more', async () => {
    await withFault('stall', async (service, honest) => {
      const { status, headers, body, cut } = await onWire(service, 300);
      expect([status, headers['content-length'], cut]).toEqual([200, String(honest.length), true]);
      expect(body).toEqual(honest.subarray(0, Math.ceil(honest.length / 2)));
    });
  });

  // That something takes long is all that can be seen of it; how long at most is never asked.
  test('delay answers late', async () => {
    await withFault('delay=150', async (service, honest) => {
      const started = performance.now();
      expect((await onWire(service)).body).toEqual(honest);
      expect(performance.now() - started).toBeGreaterThan(140);
    });
  });

  test('drip sends the whole body at a slow rate', async () => {
    await withFault('drip=10000', async (service, honest) => {
      const started = performance.now();
      expect((await onWire(service)).body).toEqual(honest);
      expect(performance.now() - started).toBeGreaterThan((900 * honest.length) / 10_000);
    });
  });

  test.each([
    ['length', true],
    ['chunked', true],
    ['close', false],
  ])('cut=%s ends in the middle of the body; HTTP tells: %s', async (by, tells) => {
    await withFault(`cut=${by}`, async (service, honest) => {
      const { headers, body, cut } = await onWire(service);
      expect(body).toEqual(honest.subarray(0, Math.ceil(honest.length / 2)));
      expect(cut).toBe(tells);
      expect(headers['content-length']).toBe(by === 'length' ? String(honest.length) : undefined);
      expect(headers['transfer-encoding']).toBe(by === 'chunked' ? 'chunked' : undefined);
    });
  });

  test.each([
    ['html', 'text/html', expect.stringContaining('<!doctype html>')],
    ['empty-body', 'application/json', ''],
    ['empty-object', 'application/json', '{}'],
    ['error-object', 'application/json', expect.stringMatching(/^\{"error":"[^"]+"\}$/)],
    ['null', 'application/json', 'null'],
    ['non-objects', 'application/json', '["a",1,null,["b"]]'],
    ['empty-list', 'application/json', '[]'],
  ])('%s is 200 with another body', async (fault, type, expected) => {
    await withFault(fault, async (service) => {
      const { status, headers, body } = await onWire(service);
      expect([status, headers['content-type'], body.toString()]).toEqual([200, type, expected]);
    });
  });

  test('gzip packs the honest body', async () => {
    await withFault('gzip', async (service, honest) => {
      const { headers, body } = await onWire(service);
      expect(headers['content-encoding']).toBe('gzip');
      expect(gunzipSync(body)).toEqual(honest);
    });
  });

  test('cut before gzip breaks a packed body', async () => {
    await withService({ faults: ['cut=chunked', 'gzip'] }, async (service) => {
      const { headers, body, cut } = await onWire(service);
      expect([headers['content-encoding'], cut]).toEqual(['gzip', true]);
      expect(() => gunzipSync(body)).toThrow('unexpected end of file');
    });
  });

  test('gzip-bomb is small on the wire and large inflated', async () => {
    await withFault('gzip-bomb=32', async (service) => {
      const { headers, body } = await onWire(service);
      expect(headers['content-encoding']).toBe('gzip');
      expect(body.length).toBeLessThan(50_000);
      const inflated = gunzipSync(body);
      expect(inflated).toHaveLength(32 * 2 ** 20 + 2);
      expect([inflated.at(0), inflated.at(-1)]).toEqual(['['.charCodeAt(0), ']'.charCodeAt(0)]);
    });
  });

  test('redirect points to another host, credentials included', async () => {
    await withFault('redirect=http://127.0.0.1:9', async (service) => {
      const { status, headers, body } = await onWire(service);
      expect([status, headers.location, body.length]).toEqual([302, `http://127.0.0.1:9/api/leads?limit=5&${alone}`, 0]);
    });
  });

  test('leave nothing behind: the service answers on the same connection afterwards', async () => {
    const faults = ['drip=100000@requests=1', 'gzip-bomb=1@requests=2', 'redirect=http://127.0.0.1:9@requests=3', 'html@requests=4'];
    await withService({ faults }, async (service) => {
      for (let request = 1; request <= 4; request += 1) await (await ask(service, 'leads', { redirect: 'manual' })).text();
      expect(await rowsAt(service, 'leads')).toHaveLength(30);
    });
  });
});

describe('terms of faults', () => {
  test.each([
    ['500@page=3', [200, 200, 500, 200, 200]],
    ['500@page=2-3', [200, 500, 500, 200, 200]],
    ['500@page=4-', [200, 200, 200, 500, 500]],
    ['500@requests=2-4', [200, 500, 500, 500, 200]],
    ['500@page=2-3,requests=3-', [200, 200, 500, 200, 200]],
    ['500@collection=users', [200, 200, 200, 200, 200]],
    ['500@purpose=probe', [200, 200, 200, 200, 200]],
    ['500', [500, 500, 500, 500, 500]],
  ])('%s gives pages 1 to 5 the statuses %j', async (fault, expected) => {
    await withService({ faults: [fault] }, async (service) => expect(await statuses(service, 5)).toEqual(expected));
  });

  test('page leaves single records alone', async () => {
    await withService({ faults: ['500@page=1'] }, async (service) => expect(await rowsAt(service, 'leads/none')).toEqual([]));
  });

  test('purpose=probe meets requests that say so', async () => {
    await withService({ faults: ['500@purpose=probe'] }, async (service) => {
      expect((await ask(service, 'leads', { headers: { 'x-leadstream-purpose': 'probe' } })).status).toBe(500);
    });
  });

  test('times=2 meets the same request twice; another limit is another request', async () => {
    await withService({ faults: ['500@page=1,times=2'] }, async (service) => {
      const seen = [];
      for (const limit of [5, 5, 6, 5, 6, 6]) seen.push((await ask(service, `leads?limit=${limit}`)).status);
      expect(seen).toEqual([500, 500, 500, 200, 500, 200]);
    });
  });

  test('several faults take turns: the second one begins where the first one ends', async () => {
    const { entries, onRequest } = requestsOf();
    await withService({ faults: ['503@times=1', 'empty-list@times=1', 'delay=1'], onRequest }, async (service) => {
      for (let time = 1; time <= 3; time += 1) await ask(service, 'leads');
    });
    expect(entries.map(({ status, fault }) => [status, fault])).toEqual([
      [503, '503@times=1'],
      [200, 'empty-list@times=1'],
      [200, 'delay=1'],
    ]);
  });

  test('rate meets a share of the requests, the same ones with the same seed, in whatever order they come', async () => {
    const faults = ['503@rate=0.2'];
    const pages = Array.from({ length: 200 }, (_, index) => index + 1);
    const failing = async (seed: number, order: readonly number[]): Promise<readonly number[]> => {
      const failed: number[] = [];
      await withService({ faults, seed }, async (service) => {
        for (const page of order) if ((await ask(service, `leads?limit=1&page=${page}`)).status === 503) failed.push(page);
      });
      return failed.sort((a, b) => a - b);
    };
    const failed = await failing(1, pages);
    expect(failed.length).toBeGreaterThan(20);
    expect(failed.length).toBeLessThan(60);
    expect(await failing(1, pages.toReversed())).toEqual(failed);
    expect(await failing(2, pages)).not.toEqual(failed);
  });

  test('rate draws anew when a request comes again', async () => {
    await withService({ faults: ['503@rate=0.5'] }, async (service) => {
      const seen = new Set();
      for (let time = 1; time <= 20; time += 1) seen.add((await ask(service, 'leads')).status);
      expect(seen).toEqual(new Set([200, 503]));
    });
  });

  test.each([
    ['hangg', /no 'hangg', did you mean 'hang'/],
    ['nonsense', /no 'nonsense', only a status from 400 to 599, hang, .*redirect/],
    ['STATUS', /no 'STATUS'/],
    ['600', /no '600'/],
    ['503=soon', /503: needs a Retry-After like 2 or date\+2/],
    ['hang=3', /hang: takes no value/],
    ['cut', /cut: needs one of length, chunked, close/],
    ['redirect=elsewhere', /redirect: needs an origin/],
    ['500@pages=3', /no 'pages', did you mean 'page'/],
    ['500@every=3', /no 'every', only collection, page, purpose, requests, times, rate/],
    ['500@page=3,page=4', /'page' is given twice/],
    ['500@page=x', /page needs a number or a range/],
    ['500@rate=2', /rate needs a share/],
    ['delay=2147483648', /delay: needs a whole number from 0 to 2147483647/],
    ['500@collection=leeds', /collection needs one of leads, bridges/],
  ])('are refused when wrong: %s', async (fault, message) => {
    const starting = startService({ source: generate(small()), accounts: [account], faults: [fault] });
    await expect(starting).rejects.toMatchObject({ code: 'E_USAGE', message: expect.stringMatching(message) });
  });
});
