import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadPipeline } from '../../../src/plan/index.js';
import { runPipeline } from '../../../src/run/index.js';
import { byLink, orders, ownKey, ownServer, ownText, expectDiscreet } from '../../support/odd-server.js';
import { temporaryFolder } from '../../support/temporary.js';

const declared = '    path: /orders\n    key: [no]\n    undeclared: drop\n    paging: { scheme: link, limit: per_page }';

const text = (auth: string) => ownText(declared).replace('auth: { rest_api_key: "${LEADSTREAM_REST_API_KEY}" }', `auth: ${auth}`);

const parsed = (auth: string, url: string, baseDir: string, env: Readonly<Record<string, string>> = {}) =>
  loadPipeline({ text: text(auth), file: 'p.yaml' }, { env: { LEADSTREAM_BASE_URL: `${url}/v2`, TOKEN: 'token-7f3a9c', ...env }, baseDir });

describe('credentials in a header', () => {
  test.each([
    ['{ bearer: "${TOKEN}" }', 'authorization', 'Bearer token-7f3a9c'],
    ['{ header_name: X-Shopify-Access-Token, header_value: "${TOKEN}" }', 'x-shopify-access-token', 'token-7f3a9c'],
    ['{ header_name: Authorization, header_value: "${TOKEN:?set it}" }', 'authorization', 'token-7f3a9c'],
  ])('as %s go with every request and stand nowhere else', async (auth, name, value) => {
    const sent: (string | string[] | undefined)[] = [];
    const server = await ownServer((response, url, attempt, request) => {
      sent.push(request.headers[name]);
      byLink(orders(150), (next) => `${next.href}&access_token=token-7f3a9c`)(response, url, attempt, request);
    });
    const folder = await temporaryFolder();
    const told: unknown[] = [];
    const stateDir = join(folder, 'state');
    const watch = { request: { start: (event: object) => void told.push(event) }, page: (event: object) => void told.push(event) };
    const report = await runPipeline(await parsed(auth, server.url, folder), { stateDir, watch });
    expect(report.read).toBe(150);
    expect(new Set(sent)).toEqual(new Set([value]));
    expect(server.requests.map(({ search }) => search).join()).not.toContain('token');
    expect(JSON.stringify([told, report])).not.toContain('token-7f3a9c');
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) expect(await readFile(join(entry.parentPath, entry.name), 'latin1')).not.toContain('token-7f3a9c');
  });

  test('tell accounts apart: pages of one are not those of another', async () => {
    const folder = await temporaryFolder();
    const stateDir = join(folder, 'state');
    let stop = 2;
    const server = await ownServer((response, url, attempt, request) => {
      stop -= 1;
      if (stop === 0) response.writeHead(403).end();
      else byLink(orders(50))(response, url, attempt, request);
    });
    const auth = '{ bearer: "${TOKEN}" }';
    await expect(runPipeline(await parsed(auth, server.url, folder), { stateDir })).rejects.toMatchObject({ exit: 77 });
    const other = await runPipeline(await parsed(auth, server.url, folder, { TOKEN: 'another-token' }), { stateDir });
    expect(other).toMatchObject({ read: 50, resumed: 0 });
  });

  test('are in no error', async () => {
    const server = await ownServer((response, _url, _attempt, { headers }) =>
      response.writeHead(400, { 'x-echo': '1' }).end(JSON.stringify(headers)),
    );
    const failure: unknown = await runPipeline(await parsed('{ bearer: "${TOKEN}" }', server.url, '/tmp', { TOKEN: 'k+e y/%&"7f3a' }), {
      stateDir: await temporaryFolder(),
    }).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: 'E_SOURCE_REFUSED' });
    expectDiscreet(failure as Error);
  });

  test.each([
    ['{ bearer: "${SHORT}" }', /^the key is shorter than 8 characters/],
    ['{ bearer: "${ODD}" }', /^the key has characters that are not allowed in a header/],
  ])('are refused as %s before any request', async (auth, message) => {
    const failure: unknown = await parsed(auth, 'http://127.0.0.1:9', '/tmp', { SHORT: 'abc', ODD: 'abcdefgh\u20ac\n-x' }).catch(
      (thrown: unknown) => thrown,
    );
    expect(failure).toMatchObject({ exit: 78 });
    const lines = (failure as { lines: readonly string[] }).lines.map((line) => line.replace(/^p\.yaml:\d+:\d+ /, ''));
    expect(lines).toContainEqual(expect.stringMatching(message));
    expect(lines.join()).not.toContain(ownKey);
  });
});
