import { Agent as HttpAgent } from 'node:http';
import { readFile } from 'node:fs/promises';
import { type Agent as HttpsAgent, createServer } from 'node:https';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { lastValueFrom } from 'rxjs';
import { Server as ProxyServer } from 'proxy-chain';
import { type ClientOptions } from '../../../src/source/fetch/client.js';
import { collections } from '../../../src/collections/index.js';
import type * as Leadstream from '../../../src/index.js';
import { cli, startCli } from '../../support/cli.js';
import { certificate, certifiedKey } from '../../support/certificates.js';
import { closeAfter, listening } from '../../support/closing.js';
import { answer, clientOf, expectDiscreet, failureOf, json, oddKey, ownServer } from '../../support/odd-server.js';
import { folderWith } from '../../support/temporary.js';
import { until } from '../../support/until.js';

/** The threads run from the built files only. */
const built: typeof Leadstream = await import(pathToFileURL(join(process.cwd(), 'dist/index.js')).href);

const password = 'pass/word: 7f3a9c';
/** A proxy that wants a user and a password, and what it was asked for. */
async function openProxy() {
  const asked: string[] = [];
  const proxy = new ProxyServer({
    host: '127.0.0.1',
    port: 0,
    prepareRequestFunction: ({ username, password: given, hostname, isHttp }) => {
      asked.push(`${isHttp ? 'request' : 'tunnel'} to ${hostname}`);
      return { requestAuthentication: username !== 'reader' || given !== password };
    },
  });
  await proxy.listen();
  closeAfter({ close: () => proxy.close(true) });
  return { asked, url: (word = password) => `http://reader:${encodeURIComponent(word)}@127.0.0.1:${proxy.port}` };
}

const openService = async () => (await ownServer(json([{ uid: '1' }]))).url;

async function openTlsService() {
  const server = createServer({ key: certifiedKey, cert: certificate }, (_request, response) => response.end('[{"uid":"1"}]'));
  return `https://localhost:${await listening(server)}`;
}

/** Connections that an agent keeps open and nobody uses. */
const idle = (agent: HttpAgent) => Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? []).length;

const open = (options: Partial<ClientOptions> & { readonly baseUrl: string }) => clientOf(options)[0];
const found = (client: ReturnType<typeof open>) => lastValueFrom(client.reader(collections.users).find('1'));

describe('requests take a proxy', () => {
  test('to a service without TLS', async () => {
    const [{ asked, url }, baseUrl] = [await openProxy(), await openService()];
    expect(await found(open({ baseUrl, proxy: url() }))).toHaveLength(1);
    expect(asked).toEqual(['request to 127.0.0.1']);
  });

  test('to one with TLS by a tunnel, in which the certificate of the service counts', async () => {
    const [{ asked, url }, baseUrl] = [await openProxy(), await openTlsService()];
    const client = open({ baseUrl, proxy: url(), ca: certificate });
    await found(client);
    expect(await found(client)).toHaveLength(1);
    expect(asked).toEqual(['tunnel to localhost']);
    await expect(found(open({ baseUrl, proxy: url() }))).rejects.toMatchObject({ code: 'E_SOURCE_TLS' });
  });

  test('from the thread that fetches as well', async () => {
    const [{ asked, url }, baseUrl] = [await openProxy(), await openTlsService()];
    const options = { auth: { rest_api_key: oddKey }, proxy: url(), ca: [certificate], threads: 1 };
    const service = closeAfter(built.connect({ baseUrl, ...options }));
    expect(await service.users.find('1')).toHaveLength(1);
    expect(asked).toEqual(['tunnel to localhost']);
  });
});

describe('a command takes the proxy of its environment', () => {
  const users = 'name: users\nfrom: users\nto: [{ csv: { path: users.csv } }]\n';
  const variables = (baseUrl: string, proxy: string) =>
    `LEADSTREAM_BASE_URL=${baseUrl}\nLEADSTREAM_REST_API_KEY=${oddKey}\nHTTP_PROXY=${proxy}\n`;

  test('also of the file that --env names', async () => {
    const [{ asked, url }, baseUrl] = [await openProxy(), await openService()];
    const cwd = await folderWith({ 'users.yaml': users, '.env': variables(baseUrl, url()) });
    const { code, stderr } = await cli(['run', 'users.yaml', '--env', '.env', '--log-level', 'debug', '--report', 'report.json'], { cwd });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(asked).not.toEqual([]);
    expect(await readFile(join(cwd, 'users.csv'), 'utf8')).toMatch(/^1,/m);
    for (const text of [stderr, await readFile(join(cwd, 'report.json'), 'utf8')]) expect(text).not.toMatch(/7f3a9c|pass%2Fword/);

    asked.splice(0);
    expect(await cli(['fetch', 'users', '--env', '.env'], { cwd })).toMatchObject({ code: 0 });
    expect(asked).not.toEqual([]);
  });

  test('unless NO_PROXY has its network, and is warned of its invalid entries', async () => {
    const [{ asked, url }, baseUrl] = [await openProxy(), await openService()];
    const cwd = await folderWith({ 'users.yaml': users, '.env': variables(baseUrl, url()) });
    const run = (noProxy: string, ...more: string[]) =>
      cli(['run', 'users.yaml', '--env', '.env', ...more], { cwd, env: { NO_PROXY: noProxy } });
    const warning = /W_SOURCE_PROXY: .*NO_PROXY has invalid entries \(127\.\*\), so requests to 127\.0\.0\.1 use the proxy/;
    expect(await run('localhost,127.*,127.0.0.0/8')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('NO_PROXY') });
    expect(asked).toEqual([]);
    expect(await run('127.*', '--set', 'service.strict=true')).toMatchObject({ code: 78, stderr: expect.stringContaining('127.*') });
    expect(asked).toEqual([]);
    expect(await run('127.*')).toMatchObject({ code: 0, stderr: expect.stringMatching(warning) });
    expect(asked).not.toEqual([]);
    const found = await startCli(['fetch', 'users', '1', '--env', '.env'], { cwd, env: { NO_PROXY: '127.*' } }).finished;
    expect(found).toMatchObject({ code: 0, stderr: expect.stringContaining('W_SOURCE_PROXY') });
  });
});

describe('what a proxy does not do is said, and its password is not', () => {
  const expectSecretive = (error: Error) => {
    expectDiscreet(error);
    for (const spelling of ['pass/word', 'pass%2Fword', '7f3a9c', btoa(`reader:${password}`)]) expect(error.stack).not.toContain(spelling);
  };

  test.each([
    ['a request', openService],
    ['a tunnel', openTlsService],
  ])('it refuses the password of %s', async (_what, service) => {
    const [{ url }, baseUrl] = [await openProxy(), await service()];
    const error = await failureOf(open({ baseUrl, proxy: url('no the password') }));
    expect(error).toMatchObject({ code: 'E_SOURCE_PROXY', exit: 69, status: 407, message: expect.stringContaining('HTTP 407') });
    expectSecretive(error);
  });

  test.each(['http://127.0.0.1:9999', 'https://localhost:9999'])('it is not there, on the way to %s', async (baseUrl) => {
    const error = await failureOf(open({ baseUrl, proxy: `http://reader:${encodeURIComponent(password)}@127.0.0.1:1` }));
    expect(error).toMatchObject({ code: 'E_SOURCE_UNAVAILABLE', systemCode: 'ECONNREFUSED' });
    expect(error.message).toContain('no connection through the proxy 127.0.0.1:1 (ECONNREFUSED 127.0.0.1:1)');
    expectSecretive(error);
  });

  test.each([
    ['of its own', '127.0.0.1:1', 5],
    ['of the service', undefined, 503],
  ])('it gives a status %s, which does not tell whose it is', async (_what, host, status) => {
    const [{ url }, server] = [await openProxy(), await ownServer(answer(503))];
    const error = await failureOf(open({ baseUrl: host === undefined ? server.url : `http://${host}`, proxy: url() }));
    const [, via = ''] = /@(.*)/.exec(url()) ?? [];
    expect(error).toMatchObject({
      code: 'E_SOURCE_UNAVAILABLE',
      message: expect.stringMatching(`HTTP ${status}\\d* through the proxy ${via}`),
    });
    expectSecretive(error);
  });

  test('it never answers: leaving and closing leave no connection behind', async () => {
    const sockets = new Set<Socket>();
    const silent = createTcpServer((socket) => {
      sockets.add(socket.on('close', () => sockets.delete(socket)).resume());
    });
    const proxy = `http://127.0.0.1:${await listening(silent)}`;
    const client = open({ baseUrl: 'https://localhost:9999', proxy });
    const read = found(client);
    await until(() => sockets.size === 1);
    await Promise.all([expect(read).rejects.toMatchObject({ code: 'E_SOURCE_CLOSED' }), client.close()]);
    await until(() => sockets.size === 0);
  });
});

describe('requests take an agent of the program', () => {
  test('whose connections stay open when the client is closed, and are used by the next', async () => {
    const [agent, baseUrl] = [new HttpAgent({ keepAlive: true, maxSockets: 1 }), await openService()];
    closeAfter({ close: () => agent.destroy() });
    for (let times = 0; times < 2; times += 1) {
      const client = open({ baseUrl, agent: { http: agent } });
      expect(await Promise.all([found(client), found(client)])).toHaveLength(2);
      await client.close();
      await until(() => idle(agent) === 1);
    }
  });

  test('that has a way of its own to a service with TLS, and trusts the authorities that are named', async () => {
    const [{ asked, url }, baseUrl] = [await openProxy(), await openTlsService()];
    // Of an agent for either protocol, the types of Node know one.
    const agent = { https: new HttpsProxyAgent(url()) as unknown as HttpsAgent };
    expect(await found(open({ baseUrl, agent, ca: certificate }))).toHaveLength(1);
    expect(asked).toEqual(['tunnel to localhost']);
    await expect(found(open({ baseUrl, agent }))).rejects.toMatchObject({ code: 'E_SOURCE_TLS' });
  });
});
