import { setTimeout } from 'node:timers/promises';
import { loadCollections } from '../../../src/index.js';
import { openDirectory, startService } from '../../../src/service/index.js';
import { cli, startCli } from '../../support/cli.js';
import { duckdb } from '../../support/duckdb.js';
import { orders, ownEnv, ownKey, ownText, runOwn } from '../../support/odd-server.js';
import { folderWith, temporaryFolder } from '../../support/temporary.js';

const declared = `    path: /shop/orders
    key: [no]
    rows: /data/items
    undeclared: drop
    paging: { scheme: page, param: p, limit: size, first: 0 }`;

const ndjson = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** A folder with a pipeline file and the orders that it declares. */
const shop = (text = ownText(declared)) => folderWith({ 'p.yaml': text, 'orders.ndjson': ndjson(orders(777)) });

test('serve gives a declared collection by page number, and a pipeline reads it back', async () => {
  const [folder, other] = [await shop(), await temporaryFolder()];
  const env = ownEnv({ url: 'http://127.0.0.1' });
  const own = await loadCollections('p.yaml', { env, cwd: folder });
  const service = await startService({ source: await openDirectory(folder, own), declared: own, accounts: [{ restApiKey: ownKey }] });
  try {
    const at = (search: string) => fetch(`${service.url}/shop/orders?${search}`).then(({ status }) => status);
    const key = new URLSearchParams({ rest_api_key: ownKey }).toString();
    expect([await at('p=0'), await at(key), await at(`${key}&p=-1`), await at(`${key}&size=0`)]).toEqual([401, 200, 400, 400]);
    const text = ownText(declared).replace('service:\n', 'service:\n  concurrency: 2\n');
    const report = await runOwn({ ...service, requests: [], aborted: () => 0 }, text, other, { path: '' });
    expect(report).toMatchObject({ read: 777, consistency: { outcome: 'stable', counted: 'rows' }, warnings: [] });
    expect(
      await duckdb(
        `select count(*)::int as n, sum(no::int)::int as sum, count("address.city")::int as cities from read_json('${other}/orders.ndjson')`,
      ),
    ).toEqual([{ n: 777, sum: (777 * 778) / 2, cities: 777 }]);
  } finally {
    await service.close();
  }
});

test('the command serves it, too', async () => {
  const folder = await shop();
  const { process: child, finished } = startCli(['serve', '--port', '0', '--data', '.', '--collections', 'p.yaml'], {
    cwd: folder,
    env: ownEnv({ url: 'http://127.0.0.1' }),
  });
  let out = '';
  child.stdout?.on('data', (piece: string) => (out += piece));
  while (!out.includes('\n')) await setTimeout(5);
  const answer = await fetch(`${out.trim()}/shop/orders?${new URLSearchParams({ p: '77', size: '10', rest_api_key: ownKey }).toString()}`);
  expect(await answer.json()).toEqual({ data: { items: orders(777).slice(770) } });
  child.kill('SIGTERM');
  await finished;
});

test('the command refuses to serve a collection that is not paged by number', async () => {
  const folder = await shop(ownText(declared.replace(/paging: .*/, 'paging: { scheme: cursor, param: c, next: /next }')));
  const { code, stderr } = await cli(['serve', '--data', '.', '--collections', 'p.yaml'], {
    cwd: folder,
    env: ownEnv({ url: 'http://127.0.0.1' }),
  });
  const message = 'orders is paged by cursor; serve supports page numbers only';
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
});
