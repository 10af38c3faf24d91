import { from, lastValueFrom, type Observable } from 'rxjs';
import { connect, type ConnectOptions } from '../../../src/index.js';
import { start } from '../../support/cli.js';
import { answer, json, oddKey, ownServer, type Handler } from '../../support/odd-server.js';
import { until } from '../../support/until.js';

const open = (baseUrl: string, options: Partial<ConnectOptions> = {}) =>
  connect({ baseUrl, auth: { rest_api_key: oddKey }, limit: 10, firstPage: 1, ...options });
type Opened = ReturnType<typeof open>;

const silent: Handler = () => {};
const endless: Handler = (response, url, ...rest) =>
  json(Array.from({ length: 10 }, (_, row) => ({ lead_id: `${url.searchParams.get('page') ?? ''}-${row}` })))(response, url, ...rest);
const closed = (url: string) => ({ code: 'E_SOURCE_CLOSED', exit: 69, retry: false, message: `${url}: the connection was closed` });

/** What a stream fails with. */
async function failure(stream$: Observable<unknown>): Promise<unknown> {
  return lastValueFrom(stream$, { defaultValue: 'nothing' }).catch((error: unknown) => error);
}

describe('closing a connection', () => {
  const ways: readonly (readonly [string, Handler, (service: Opened) => Observable<unknown>])[] = [
    ['a stream before its first page', silent, (service) => service.leads.pages$],
    ['a stream that waits to try again', answer(503), (service) => service.leads.pages$],
    ['the search for a record', silent, (service) => from(service.leads.find('1'))],
    ['a list without pages', silent, (service) => service.links.pages$],
  ];
  test.each(ways)('ends %s with one error', async (_what, handler, read) => {
    const { url, requests, aborted } = await ownServer(handler);
    const service = open(url, { retry: { baseMs: 60_000, capMs: 60_000 }, random: () => 1 });
    const failed = failure(read(service));
    await until(() => requests.length > 0);
    const asked = requests.length;
    await service.close();
    expect(await failed).toMatchObject(closed(url));
    if (handler === silent) await until(() => aborted() === asked);
  });

  test('ends a loop with it, behind the rows that had come', async () => {
    const { url } = await ownServer(endless);
    const service = open(url, { window: 4 });
    let rows = 0;
    const loop = async () => {
      for await (const _ of service.leads) if ((rows += 1) === 15) await service.close();
    };
    await expect(loop()).rejects.toMatchObject(closed(url));
    expect(rows).toBeGreaterThanOrEqual(15);
  });

  test('refuses what is subscribed later, without a request, and may be done twice', async () => {
    const { url, requests } = await ownServer(endless);
    const service = open(url);
    const pages$ = service.leads.pages$;
    await Promise.all([service.close(), service.close()]);
    await service.close();
    expect(await failure(pages$)).toMatchObject(closed(url));
    expect(await failure(from(service.leads.find('1')))).toMatchObject(closed(url));
    expect(requests).toEqual([]);
  });

  test('is over when the connections are', async () => {
    const server = await ownServer(json([]));
    const service = open(server.url, { endWaitMs: 1 });
    await lastValueFrom(service.links.pages$, { defaultValue: undefined });
    await service.close();
    // Nothing here closes them but the client: the server leaves idle connections open.
    await until(() => server.connections() === 0);
    server.close();
  });

  test('is done at the end of a block by `await using`', async () => {
    const { url } = await ownServer(endless);
    let left: Opened | undefined;
    {
      await using service = open(url);
      left = service;
    }
    expect(await failure(left.leads.pages$)).toMatchObject(closed(url));
  });

  test('is nothing for other connections to the same service', async () => {
    const { url } = await ownServer(json([{ lead_id: '1' }]));
    const [one, other] = [open(url), open(url)];
    await one.close();
    expect(await other.leads.find('1')).toHaveLength(1);
    await other.close();
  });
});

/** Cancels in nine ways; only a process of its own has nothing else in it. */
test('nothing is left of reads that were cancelled, in whatever way', async () => {
  const child = start(process.execPath, ['--expose-gc', 'test/support/cancelling-child.mjs', '1', '3'], { cwd: process.cwd() });
  const { code, stdout, stderr } = await child.finished;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { outcomes, resources, left } = JSON.parse(stdout);
  expect(Object.values(outcomes)).toEqual(Array.from({ length: 9 }, () => ({ rounds: 3, connections: true })));
  expect(resources).toEqual(['TCPServerWrap']);
  expect(left).toEqual({ sockets: 0, threads: 0 });
});
