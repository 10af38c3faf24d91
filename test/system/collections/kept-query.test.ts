import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Handler } from '../../support/odd-server.js';
import { byCursor, byLink, orders, ownServer, ownText, runOwn, send, slice } from '../../support/own-server.js';
import { temporaryFolder } from '../../support/temporary.js';

const declared = (paging = 'scheme: link', query = '{ status: "paid & sent", "tags[]": a }') =>
  `    path: /orders\n    key: [no]\n    undeclared: drop\n    paging: { ${paging} }\n    query: ${query}`;
const to = 'to: [{ ndjson: { path: orders.ndjson } }]';
const file = (mode: string, paging?: string) => ownText(declared(paging), `from: orders\nconsistency: ${mode}\n${to}`);
const kept = 'status=paid%20%26%20sent&tags%5B%5D=a';

/** Serves 30 orders to requests with the whole query, and more to others; the links to pages 2 and 3 have the given queries. */
const linking =
  (second: string, third = second): Handler =>
  (response, url, ...rest) => {
    const from = Number(url.searchParams.get('after') ?? 0);
    const isWhole = /^(?:paid & sent)+$/.test(url.searchParams.getAll('status').join('')) && !url.search.includes('=b');
    const rows = isWhole ? orders(30) : orders(41);
    byLink(rows, () => `?${from === 0 ? second : third}&after=${from + 10}`)(response, url, ...rest);
  };

/** Links that say the same in other words. */
const same = [kept, 'tags[]=a&status=paid+%26+sent', `x=1&${kept}&status=paid+%26%20sent`, 'status=paid%20%26%20sent&%74ags[0]=a'];
/** Links that lack a parameter, or have another value. */
const other = ['tags%5B%5D=a', 'status=&tags[]=a', 'status=paid&tags[]=a', `${kept}&status=open`, 'Status=paid+%26+sent&tags[]=a', 'x=1'];

describe('a link to the next page', () => {
  test.each(same)('that keeps the query is followed without a word: %s', async (query) => {
    for (const keep of ['', ', keep_query: true']) {
      const server = await ownServer(linking(query));
      const report = await runOwn(server, file('prove', `scheme: link${keep}`), await temporaryFolder());
      expect(report).toMatchObject({ read: 30, warnings: [], consistency: { outcome: 'proven' } });
    }
  });

  test.each([...other.map((query) => [query, query] as const), [kept, other[0]] as const])(
    'that changes the query is followed as written, with one warning, and proves nothing: %s, then %s',
    async (second, third) => {
      for (const [mode, outcome] of [
        ['prove', 'stable'],
        ['check', 'stable'],
        ['off', 'off'],
      ] as const) {
        const server = await ownServer(linking(second, third));
        const report = await runOwn(server, file(mode), await temporaryFolder());
        const message = expect.stringMatching(/^orders: the link on page [12] (?:lacks|changes) '(?:status|tags\[\])' of query/);
        expect(report).toMatchObject({ read: 41, consistency: { outcome } });
        expect(report.warnings).toEqual([{ code: 'W_SOURCE_LINK', message }]);
        expect(server.requests.some(({ search }) => search.includes(`?${second}&after=10`))).toBe(true);
        const strict = runOwn(await ownServer(linking(second, third)), file(mode), await temporaryFolder(), {
          set: { 'service.strict': 'true' },
        });
        await expect(strict).rejects.toMatchObject({ code: 'E_GATE_STRICT', exit: 65, message: expect.stringContaining('W_SOURCE_LINK') });
      }
    },
  );

  test.each([
    ['x=1', 'x=1', 30],
    [kept, 'tags[]=a', 30],
    [kept, 'status=paid&tags[]=a', 'status'],
    [`${kept}&status=open`, kept, 'status'],
    [`${kept}&tags[1]=b`, kept, 'tags[]'],
  ])('gets what it lacks under keep_query, and may have no other value: %s, then %s', async (second, third, expected) => {
    const server = await ownServer(linking(second, third));
    const run = runOwn(server, file('prove', 'scheme: link, keep_query: true'), await temporaryFolder());
    if (typeof expected === 'number') expect(await run).toMatchObject({ read: 30, warnings: [], consistency: { outcome: 'proven' } });
    else {
      const message = expect.stringContaining(`the link to the next page changes '${expected}' of query`);
      await expect(run).rejects.toMatchObject({ code: 'E_SOURCE_LINK', exit: 69, message });
      // Nothing was followed, and nothing tried again.
      expect(server.requests).toHaveLength(second === kept ? 2 : 1);
    }
  });

  test('that changes the query in a further pass only proves nothing either', async () => {
    let requests = 0;
    const server = await ownServer((...asked) => linking((requests += 1) > 4 ? 'x=1' : kept)(...asked));
    const report = await runOwn(server, file('prove'), await temporaryFolder());
    expect(report).toMatchObject({ warnings: [{ code: 'W_SOURCE_LINK' }], consistency: { outcome: 'repaired', repaired: 11 } });
  });

  test('may lack the query where that is declared to be harmless', async () => {
    const report = await runOwn(await ownServer(linking('x=1')), file('prove', 'scheme: link, keep_query: false'), await temporaryFolder());
    expect(report).toMatchObject({ read: 41, warnings: [], consistency: { outcome: 'proven' } });
  });

  test.each(['', ', keep_query: true'])('in a response is judged alike, after a resume and in a side of a join, too (%s)', async (keep) => {
    let refuses = true;
    const server = await ownServer((response, url) => {
      if (url.pathname.endsWith('/others')) return send(response, orders(5));
      const from = Number(url.searchParams.get('after') ?? 0);
      if (from === 20 && refuses) return send(response, {}, {}, 403);
      send(response, {
        rows: slice(orders(url.searchParams.get('status') === 'paid & sent' ? 30 : 41), url, from).rows,
        next: from < 20 ? `/v2/orders?after=${from + 10}` : null,
      });
    });
    const text = (rest: string) => ownText(`${declared(`scheme: link, next: /next${keep}`)}\n    rows: /rows`, rest);
    const [folder, stateDir] = [await temporaryFolder(), await temporaryFolder()];
    const run = (rest: string) => runOwn(server, text(rest), folder, { stateDir });
    await expect(run(`from: orders\n${to}`)).rejects.toMatchObject({ code: 'E_SOURCE_AUTH' });
    refuses = false;
    const warned = keep === '' ? [{ code: 'W_SOURCE_LINK' }] : [];
    expect(await run(`from: orders\nconsistency: prove\n${to}`)).toMatchObject({ resumed: 2, warnings: warned });
    const others = '  others: { path: /others, key: [no], undeclared: drop, paging: { scheme: none }, fields: { no: text } }\n';
    const joined = `${others}from: others\nsteps: [{ join: { with: orders, on: { no: no }, as: o, select: [total] } }]\n${to}`;
    const report = await run(joined);
    expect(report).toMatchObject({ read: 5, warnings: warned });
    expect((await readFile(join(folder, 'orders.ndjson'), 'utf8')).match(/"o_total":"/g)).toHaveLength(5);
  });
});

test.each(['next: /paging/next', 'last: no'])('a list by cursor sends the query with every request (%s)', async (next) => {
  const server = await ownServer((response, url, ...rest) => {
    const { searchParams } = url;
    if (searchParams.get('status') !== 'paid & sent' || searchParams.get('tags[]') !== 'a') return send(response, {}, {}, 400);
    if (next.startsWith('next')) return byCursor(orders(30))(response, url, ...rest);
    send(response, { data: { items: slice(orders(30), url, Number(searchParams.get('cursor') ?? 0)).rows } });
  });
  const text = ownText(
    `${declared(`scheme: cursor, ${next}, param: cursor`)}\n    rows: /data/items`,
    `from: orders\nconsistency: prove\n${to}`,
  );
  expect(await runOwn(server, text, await temporaryFolder())).toMatchObject({ read: 30, consistency: { outcome: 'proven' } });
});
