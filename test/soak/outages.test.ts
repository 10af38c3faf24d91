import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { byCursor, orders, ownServer, ownText, runOwn, send } from '../support/odd-server.js';
import { temporaryFolder } from '../support/temporary.js';

const cursor = '    path: /orders\n    key: [no]\n    rows: /data/items\n    paging: { scheme: cursor, next: /paging/next, param: cursor }';

// A machine that is busy can delay each look until the outage is there again, so this is no test for every commit.
test('a list is not proven where an outage keeps the rhythm of the waits', async () => {
  let since = Infinity;
  const server = await ownServer((response, url, ...rest) => {
    const from = Number(Buffer.from(url.searchParams.get('cursor') ?? '', 'base64url').toString());
    if (from === 20) since = Math.min(since, performance.now());
    const isOut = from >= 20 && (performance.now() - since) % 400 < 80;
    if (isOut) send(response, { data: { items: orders(60).slice(from, from + 10) } });
    else byCursor(orders(60))(response, url, ...rest);
  });
  const folder = await temporaryFolder();
  const text = ownText(cursor, 'from: orders\nconsistency: prove\nto: [{ ndjson: { path: orders.ndjson } }]');
  const run = runOwn(server, text, folder, { set: { 'service.end_wait': '400ms' } });
  const { outcome } = await run.then(({ consistency }) => consistency).catch(() => ({ outcome: 'refused' }));
  const written = async () => (await readFile(join(folder, 'orders.ndjson'), 'utf8')).split('\n').filter(Boolean);
  expect(outcome !== 'proven' || (await written()).length === 60).toBe(true);
});
