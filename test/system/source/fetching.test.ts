import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { lastValueFrom } from 'rxjs';
import type { Transport, TransportOptions } from '../../../src/http/transport.js';
import type * as Fetching from '../../../src/source/fetch/fetching.js';
import type { ScannedAnswer } from '../../../src/source/fetch/fetching.js';
import { scan } from '../../../src/source/decode/scan.js';
import { start } from '../../support/cli.js';
import { answer, endless, expectDiscreet, json, oddKey, otherProtocols, ownServer, startServer } from '../../support/odd-server.js';
import type { Handler } from '../../support/odd-server.js';
import { until } from '../../support/until.js';

/** The thread runs from the built files only. */
const built = pathToFileURL(join(process.cwd(), 'dist/source/fetch/fetching.js')).href;
const { openFetching: open, prepareFetching }: typeof Fetching = await import(built);

const target = { path: '/api/leads', label: 'leads page 1', query: 'page=1' };

function transport(baseUrl: string, threads: number, options: Partial<TransportOptions> = {}): Transport<ScannedAnswer> {
  const all = { baseUrl, query: { rest_api_key: oddKey }, concurrency: 2, timeoutMs: 60_000, maxPageBytes: 100_000, ...options };
  return open(all, threads);
}

/** What a request for a page came to, as far as a caller can see. What a thread found in it is what is found here. */
async function outcome(opened: Transport<ScannedAnswer>, page = 1): Promise<unknown> {
  try {
    const { status, body, scanned } = await lastValueFrom(opened.get({ ...target, query: `page=${page}` }));
    const own = scan(body);
    const found = own === undefined ? null : { ...own, bytes: new Uint8Array(own.bytes) };
    expect(scanned).toEqual('together' in opened ? found : undefined);
    return { status, body: Buffer.from(body).toString('latin1') };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    expectDiscreet(error);
    // Which of two timers was first is a matter of how busy the machine is.
    return { ...error, name: error.name, message: error.message.replace(/\((?:request|response)\)$/, '') };
  }
}

/** What a thread of its own tells of a request, as this thread does. */
async function outcomeOfBoth(url: string): Promise<unknown> {
  const [here, thread] = [transport(url, 0), transport(url, 1)];
  const there = await outcome(thread);
  expect(there).toEqual(await outcome(here));
  await thread.close();
  return there;
}

/** Runs a program that makes requests by `openFetching`, and expects what it prints. */
async function expectPrinted(url: string, lines: string, expected: string): Promise<void> {
  const script = `
    import { subscribe } from 'node:diagnostics_channel';
    import { once } from 'node:events';
    import { lastValueFrom } from 'rxjs';
    import { openFetching } from '${built}';
    const opened = openFetching({ baseUrl: '${url}', query: {}, concurrency: 1, timeoutMs: 60000, maxPageBytes: 1000 }, 1);
    ${lines}`;
  const { finished } = start(process.execPath, ['--input-type=module', '--eval', script], { cwd: process.cwd() });
  expect(await finished).toEqual({ code: 0, stdout: expected, stderr: '' });
}

/** A server that answers each page as another handler does, and clients of it: one thread for many tests, which are slow to start. */
function fetchingFrom(handlers: readonly Handler[], options: Partial<TransportOptions> = {}) {
  const opened: { close(): void }[] = [];
  let transports: readonly Transport[] = [];
  beforeAll(async () => {
    const server = await startServer((response, url, ...more) => handlers[Number(url.searchParams.get('page'))]?.(response, url, ...more));
    transports = [0, 1].map((threads) => transport(server.url, threads, options));
    opened.push(...transports, server);
  });
  afterAll(() => opened.forEach((one) => one.close()));
  return async (page: number, threads: 0 | 1): Promise<unknown> => {
    const asked = transports[threads];
    if (!asked) throw new Error('nothing has been opened');
    return outcome(asked, page);
  };
}

const large = JSON.stringify(
  Array.from({ length: 300 }, (_, index) => ({ lead_id: String(index), zipcode: `1000${index}`, note: 'é\n"' })),
);
const handlers: readonly (readonly [string, Handler])[] = [
  ['a small list', json([{ lead_id: '1' }])],
  ['a large list', answer(200, large)],
  ['an empty list', json([])],
  ['records of several forms', json([{ a: '1' }, { b: 2 }])],
  ['numbers, flags, lists and nothing', answer(200, '[{"a":12345678901234567890,"b":null,"c":[1, 1.10]},{"a":1e400,"b":true,"c":{}}]')],
  ['no JSON', answer(200, '<html>')],
  ['no body', answer(200, '')],
  ['bytes that are no UTF-8', answer(200, Uint8Array.from([0x5b, 0xff, 0x5d]))],
  ['gzip', answer(200, gzipSync(large), { 'content-encoding': 'gzip' })],
  ['204', answer(204)],
  ['206', answer(206, large)],
  ['404', answer(404, '{}')],
  ['401', answer(401, oddKey)],
  ['418', answer(418)],
  ['503 with Retry-After', answer(503, '', { 'retry-after': '7' })],
  ['a redirect', answer(302, '', { location: 'http://127.0.0.1:9/' })],
  ['a body that is too large', answer(200, 'x'.repeat(300_000))],
  ['a gzip bomb', answer(200, gzipSync(Buffer.alloc(3_000_000, 0x20)), { 'content-encoding': 'gzip' })],
  ['a cut answer', (response) => response.writeHead(200, { 'content-length': '100' }).write('[', () => response.destroy())],
  ['a closed connection', (response) => response.destroy()],
];

describe('the thread that fetches', () => {
  describe('in time', () => {
    const fetched = fetchingFrom(handlers.map(([, handler]) => handler));

    test.each(handlers.map(([what], page) => [what, page] as const))(
      'gives and tells of %s what this thread would',
      async (_what, page) => {
        expect(await fetched(page, 1)).toEqual(await fetched(page, 0));
      },
    );
  });

  // Each has a thread of its own: what such a connection is by then is nothing for the next request.
  test.each(otherProtocols)('gives and tells of another protocol, %s, what this thread would', async (_what, handler) => {
    await outcomeOfBoth((await ownServer(handler)).url);
  });

  describe('with little time', () => {
    const fetched = fetchingFrom(
      endless.map(([, handler]) => handler),
      { timeoutMs: 30 },
    );

    test.each(endless.map(([what], page) => [what, page] as const))('gives up what never ends: %s', async (_what, page) => {
      expect(await fetched(page, 1)).toMatchObject({
        code: 'E_SOURCE_UNAVAILABLE',
        kind: 'transient',
        message: expect.stringContaining('no response in time'),
      });
    });

    test('tells of no answer what this thread would', async () => {
      expect(await fetched(0, 1)).toEqual(await fetched(0, 0));
    });
  });

  test('tells of a refused connection what this thread would', async () => {
    const { url, close } = await startServer(() => {});
    close();
    const message = expect.stringContaining('ECONNREFUSED');
    expect(await outcomeOfBoth(url)).toMatchObject({ code: 'E_SOURCE_UNAVAILABLE', message });
  });

  test('sends what it is told, several at a time, and mixes nothing up', async () => {
    const echo: Handler = (response, url, _attempt, request) => {
      // Answers come in another order than the requests.
      setTimeout(
        () => response.end(`${url.search} ${String(request.headers['x-leadstream-purpose'])}`),
        (Number(url.searchParams.get('page')) * 5) % 8,
      );
    };
    const { url } = await ownServer(echo);
    const opened = transport(url, 1, { concurrency: 8 });
    const key = new URLSearchParams({ rest_api_key: oddKey }).toString();
    const answers = Array.from({ length: 40 }, async (_, page) => {
      const { body } = await lastValueFrom(opened.get({ ...target, query: `page=${page}`, purpose: 'probe' }));
      expect(Buffer.from(body).toString()).toBe(`?page=${page}&${key} probe`);
    });
    await Promise.all(answers);
    await opened.close();
  });

  test('aborts a request that is left', async () => {
    const { url, requests, aborted } = await ownServer(() => {});
    const opened = transport(url, 1);
    const subscription = opened.get(target).subscribe();
    await until(() => requests.length > 0);
    subscription.unsubscribe();
    await until(() => aborted() > 0);
    await opened.close();
  });

  test('is told to have ended when it is closed in the middle, and begins anew', async () => {
    const handler: Handler = (response, _url, attempt) => {
      if (attempt > 1) response.end('[]');
    };
    const { url, requests } = await ownServer(handler);
    const opened = transport(url, 1);
    const read = lastValueFrom(opened.get(target));
    await until(() => requests.length > 0);
    const ended = { code: 'E_SOURCE_UNAVAILABLE', kind: 'permanent', message: expect.stringContaining('ended') };
    await Promise.all([expect(read).rejects.toMatchObject(ended), opened.close()]);
    expect(await lastValueFrom(opened.get(target))).toMatchObject({ status: 200 });
    await opened.close();
  });

  test('ends when nothing was asked for a while, and begins anew', async () => {
    const { url } = await ownServer(json([]));
    const lines = `
        const seen = [];
        let last;
        subscribe('worker_threads', ({ worker }) => { seen.push('begun'); last = worker; worker.on('exit', () => seen.push('ended')); });
        for (let round = 0; round < 2; round += 1) {
          for (let request = 0; request < 2; request += 1) await lastValueFrom(opened.get({ path: '/x', label: 'x' }));
          const alive = setInterval(() => {}, 1_000);
          if (round === 0) await once(last, 'exit');
          clearInterval(alive);
        }
        await opened.close();
        console.log(seen.join(' '));
      `;
    await expectPrinted(url, lines, 'begun ended begun ended\n');
  });

  test('is the one that was started before, for the first connection only', async () => {
    let workers = 0;
    const count = () => (workers += 1);
    subscribe('worker_threads', count);
    prepareFetching();
    prepareFetching();
    expect(process.getActiveResourcesInfo()).not.toContain('MessagePort');
    const { url } = await ownServer(json([]));
    const connections = [transport(url, 1), transport(url, 1)];
    for (const [index, opened] of connections.entries()) {
      await lastValueFrom(opened.get(target));
      expect(workers).toBe(index + 1);
    }
    unsubscribe('worker_threads', count);
    await Promise.all(connections.map((opened) => opened.close()));
  });

  test('keeps the process alive while somebody waits, and no longer', async () => {
    // As long as the process has nothing else to do, it would end within this time.
    const slow: Handler = (response) => setTimeout(() => response.end('[]'), 300);
    const { url } = await ownServer(slow);
    await expectPrinted(url, "opened.get({ path: '/x', label: 'x' }).subscribe(({ status }) => console.log(status));", '200\n');
  });
});
