import { readdir, readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { duckdb } from '../../support/duckdb.js';
import { byCursor, byLink, flaky, orders, ownKey, ownServer, ownText, runOwn, send, slice } from '../../support/odd-server.js';
import type { Handler, Order } from '../../support/odd-server.js';
import { temporaryFolder } from '../../support/temporary.js';

const cursor = `    path: /orders
    key: [no]
    rows: /data/items
    undeclared: drop
    paging: { scheme: cursor, next: /paging/next, param: cursor }`;

const link = `    path: /orders
    key: [no]
    undeclared: drop
    paging: { scheme: link }`;

async function keysOf(folder: string): Promise<readonly number[]> {
  const rows = await duckdb(`select no::int as no from read_json('${join(folder, 'orders.ndjson')}')`);
  return rows.map(({ no }) => Number(no));
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Answers some requests, counted from 1, with only this many rows of the page, and otherwise correctly. */
const shortened = (handler: Handler, which: readonly number[], rows = 0): Handler => {
  let requests = 0;
  return (response, ...asked) => {
    requests += 1;
    if (!which.includes(requests)) return handler(response, ...asked);
    const write = response.end.bind(response) as (body: string) => ServerResponse;
    const end = (body: string) =>
      write(
        JSON.stringify(JSON.parse(body, (key, value: unknown) => (Array.isArray(value) && key !== 'tags' ? value.slice(0, rows) : value))),
      );
    handler(Object.assign(response, { end }), ...asked);
  };
};

describe.each([
  ['by cursor', cursor, byCursor],
  ['by link header', link, byLink],
])('a collection %s', (_, declared, serve: (rows: readonly Order[]) => Handler) => {
  test('is read completely and in order in spite of failures and cut answers', async () => {
    const server = await ownServer(flaky(serve(orders(203))));
    const folder = await temporaryFolder();
    const report = await runOwn(server, ownText(declared), folder);
    expect(report).toMatchObject({ read: 203, pages: 21, warnings: [], consistency: { outcome: 'stable', counted: 'none' } });
    expect(report.consistency.unchecked).toEqual([expect.stringContaining('the number of rows')]);
    expect(await keysOf(folder)).toEqual(upTo(203));
  });

  test('loses no row of a page in the middle that was short once', async () => {
    const server = await ownServer(shortened(serve(orders(300)), [10], 7));
    const folder = await temporaryFolder();
    expect(await runOwn(server, ownText(declared), folder)).toMatchObject({ consistency: { outcome: 'repaired', repaired: 3 } });
    expect((await keysOf(folder)).toSorted((a, b) => a - b)).toEqual(upTo(300));
  });

  test('goes on from the pages of an interrupted run, and asks for none of them again but to check', async () => {
    const folder = await temporaryFolder();
    const stateDir = join(folder, 'state');
    const asked: { url: string; probe: boolean }[] = [];
    const server = await ownServer((response, url, attempt, request) => {
      asked.push({ url: url.href, probe: request.headers['x-leadstream-purpose'] === 'probe' });
      serve(orders(95))(response, url, attempt, request);
    });
    const stop = new AbortController();
    let pages = 0;
    const stopped = runOwn(server, ownText(declared), folder, {
      stateDir,
      signal: stop.signal,
      watch: { page: () => (pages += 1) === 4 && stop.abort() },
    });
    await expect(stopped).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    const before = new Set(asked.splice(0).map(({ url }) => url));
    const report = await runOwn(server, ownText(declared), folder, { stateDir });
    expect(report.resumed).toBeGreaterThanOrEqual(4);
    expect(report.read).toBe(95);
    expect(asked.filter(({ url, probe }) => !probe && before.has(url)).length).toBeLessThanOrEqual(before.size - report.resumed);
    expect(await keysOf(folder)).toEqual(upTo(95));
  });
});

describe('a list that does not end', () => {
  test('is refused when a page names a cursor that came before', async () => {
    const server = await ownServer((response, url) => {
      const from = Number(url.searchParams.get('cursor') ?? 0);
      const next = { 0: '10', 10: '20', 20: '10' }[from];
      send(response, { data: { items: orders(30).slice(from, from + 10) }, paging: { next } });
    });
    const folder = await temporaryFolder();
    await expect(runOwn(server, ownText(cursor), folder)).rejects.toMatchObject({
      code: 'E_SOURCE_CURSOR',
      exit: 69,
      message: 'orders: page 3 has the same cursor for the next page as page 1; the list would never end',
    });
    expect(server.requests).toHaveLength(3);
  });

  test.each(['repair', 'off'])('is refused when there is always a next page and never a new row, with consistency %s', async (mode) => {
    const server = await ownServer((response, url) => {
      const page = Number(url.searchParams.get('cursor') ?? 0);
      send(response, { data: { items: orders(10) }, paging: { next: page + 1 } });
    });
    const text = ownText(cursor, `from: orders\nconsistency: ${mode}\nto: [{ csv: { path: o.csv } }]`);
    await expect(runOwn(server, text)).rejects.toMatchObject({ code: 'E_SOURCE_ENDLESS' });
    expect(server.requests.length).toBeLessThan(20);
  });

  test('is refused when it has only empty pages, and when it has more than max_pages', async () => {
    const empty = await ownServer((response, url) =>
      send(response, { data: { items: [] }, paging: { next: Number(url.searchParams.get('cursor') ?? 0) + 1 } }),
    );
    await expect(runOwn(empty, ownText(cursor))).rejects.toMatchObject({ code: 'E_SOURCE_ENDLESS' });
    const long = await ownServer(byCursor(orders(100)));
    const short = runOwn(long, ownText(cursor), await temporaryFolder(), { set: { 'service.max_pages': '4' } });
    await expect(short).rejects.toMatchObject({ code: 'E_SOURCE_MAX_PAGES' });
  });

  test('goes on behind an empty page that names a next one', async () => {
    const server = await ownServer((response, url) => {
      const from = Number(url.searchParams.get('cursor') ?? 0);
      const items = from === 1 || from === 2 ? [] : orders(20).slice(from > 2 ? 10 : 0, from > 2 ? 20 : 10);
      send(response, { data: { items }, paging: from < 3 ? { next: from + 1 } : { next: null } });
    });
    expect(await runOwn(server, ownText(cursor))).toMatchObject({ read: 20, pages: 2 });
  });
});

test('a list whose cursors serve once goes on behind a page without rows', async () => {
  const asked = new Set<string>();
  const server = await ownServer((response, url) => {
    const isSecond = asked.has(url.search);
    asked.add(url.search);
    const from = Number(url.searchParams.get('cursor') ?? 0);
    const items = from === 1 ? [] : orders(30).slice(from * 10, from * 10 + 10);
    const next = isSecond || from === 2 ? null : from + 1;
    send(response, { data: { items: isSecond ? [] : items }, paging: { next } });
  });
  const text = ownText(cursor, 'from: orders\nconsistency: off\nto: [{ ndjson: { path: orders.ndjson } }]');
  expect(await runOwn(server, text)).toMatchObject({ read: 20, pages: 2 });
});

describe('the end of a list without page numbers', () => {
  test('is not believed when a pointer never met a cursor though the list has more rows', async () => {
    const server = await ownServer(byCursor(orders(95)));
    const wrong = ownText(cursor.replace('/paging/next', '/pagination/next'));
    await expect(runOwn(server, wrong)).rejects.toMatchObject({
      code: 'E_SOURCE_CURSOR',
      message: 'orders: requested 9 of its rows, and the service returned them without a cursor to the others',
    });
  });

  test('is not given up for a service that refuses a smaller page', async () => {
    const server = await ownServer((response, url, ...rest) =>
      url.searchParams.get('limit') === '10' ? byCursor(orders(7))(response, url, ...rest) : send(response, { error: 'limit' }, {}, 422),
    );
    const report = await runOwn(server, ownText(cursor));
    expect(report).toMatchObject({ read: 7, consistency: { outcome: 'stable' } });
    expect(report.consistency.unchecked?.[0]).toContain('that one page is the whole list');
  });

  test('may be a page without rows that names a next one, where that is declared', async () => {
    const server = () =>
      ownServer((response, url) => {
        const from = Number(url.searchParams.get('cursor') ?? 0);
        send(response, { data: { items: orders(25).slice(from, from + 10) }, paging: { next: from + 10 } });
      });
    expect(await runOwn(await server(), ownText(`${cursor}\n    end: empty_page`))).toMatchObject({
      read: 25,
      pages: 3,
    });
    await expect(runOwn(await server(), ownText(cursor))).rejects.toMatchObject({ code: 'E_SOURCE_ENDLESS' });
  });
});

describe('an interrupted read', () => {
  test('begins again when the service refuses the cursor of the last page by now', async () => {
    const folder = await temporaryFolder();
    const stateDir = join(folder, 'state');
    let epoch = 1;
    let requests = 0;
    const server = await ownServer((response, url) => {
      const [of = epoch, from = 0] = url.searchParams.get('cursor')?.split('.').map(Number) ?? [];
      requests += 1;
      if (requests === 5) return send(response, {}, {}, 403);
      if (of !== epoch) return send(response, { error: 'expired' }, {}, 410);
      const { rows } = slice(orders(60), url, from);
      send(response, { data: { items: rows }, paging: from < 50 ? { next: `${epoch}.${from + 10}` } : {} });
    });
    await expect(runOwn(server, ownText(cursor), folder, { stateDir })).rejects.toMatchObject({ code: 'E_SOURCE_AUTH' });
    epoch = 2;
    const report = await runOwn(server, ownText(cursor), folder, { stateDir });
    expect(report).toMatchObject({ read: 60, resumed: 0, consistency: { outcome: 'stable' } });
    expect(report.warnings).toEqual([
      { code: 'W_SPOOL_STALE', message: expect.stringMatching(/^orders: page 4 is refused since .*; all pages are requested again$/) },
    ]);
    expect(await keysOf(folder)).toEqual(upTo(60));
  });

  test('says which pages the service gives only once', async () => {
    const given = new Set<string>();
    const server = await ownServer((response, url, attempt, request) => {
      const used = url.searchParams.get('cursor') ?? '';
      if (used !== '' && given.has(used)) return send(response, { error: 'used' }, {}, 400);
      given.add(used);
      byCursor(orders(45))(response, url, attempt, request);
    });
    const report = await runOwn(server, ownText(cursor));
    expect(report).toMatchObject({ read: 45, consistency: { outcome: 'stable' }, warnings: [{ code: 'W_SOURCE_UNCHECKED' }] });
    expect(report.consistency.unchecked).toEqual([
      'the end: the service refuses page 5 a second time',
      'the number of rows: the list has no page numbers, so its end is what the service says',
      'pages after the first: the service refuses the cursor of page 2 a second time',
    ]);
  });
});

describe('a link to the next page', () => {
  test.each([
    ['http://other.example/v2/orders?after=10', 'points to http://other.example, another origin'],
    ['//other.example/v2/orders?after=10', 'points to http://other.example, another origin'],
    ['/v3/orders?after=10', 'points outside the path of base_url, /v2/'],
    ['/v2/../v3/orders', 'points outside the path of base_url, /v2/'],
    ['/v2/%2e%2e/v3', 'points outside the path of base_url, /v2/'],
    ['http://[', 'is not a valid address'],
    ['file:///etc/passwd', 'points to file:, another origin'],
  ])('to %s is refused before anything is sent', async (to, why) => {
    const server = await ownServer(byLink(orders(30), () => to));
    await expect(runOwn(server, ownText(link))).rejects.toMatchObject({
      code: 'E_SOURCE_LINK',
      exit: 69,
      message: expect.stringContaining(`${why}; it was not followed`),
    });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    ['has no <', '/v2/orders?after=20>; rel="next"'],
    ['has no >', '</v2/orders?after=20; rel="next"'],
    ['has an open quote', '</v2/orders?after=20>; rel="next'],
    ['has no relation', '</v2/orders?after=20>; title=next'],
  ])('in a header that %s is asked for again, then refused without its text', async (_, header) => {
    const bad = (times: number) => {
      let left = times;
      return ownServer((response, url, ...asked) => {
        if (url.searchParams.get('after') !== '10' || left === 0) return byLink(orders(30))(response, url, ...asked);
        left -= 1;
        send(response, slice(orders(30), url, 10).rows, { link: `${header}; t=stolen-key` });
      });
    };
    expect(await runOwn(await bad(1), ownText(link))).toMatchObject({ read: 30, warnings: [] });
    const failure: unknown = await runOwn(await bad(Infinity), ownText(link)).catch((thrown: unknown) => thrown);
    const message = '/v2/orders page 2: the Link header cannot be read, or a link in it has no rel (after 3 attempts)';
    expect(failure).toMatchObject({ code: 'E_SOURCE_LINK', exit: 69, message: expect.stringContaining(message) });
    expect(inspect(failure)).not.toMatch(/stolen|after=/);
  });

  test('keeps its query as it is written, on the wire and in the spool, but for credentials', async () => {
    const given = (after: number) => `all&q=caf%E9&x=a%20b+c&~=*()&after=${after}&flag=&%61ll`;
    const key = encodeURIComponent(ownKey);
    const inForm = new URLSearchParams({ x: ownKey }).toString();
    const secret = `rest%5Fapi_key=stolen-key&Authorized_UID=stolen-uid&t=${key}&%74${inForm}`;
    const sent: string[] = [];
    let refuses = true;
    const server = await ownServer((response, url, _attempt, request) => {
      const after = Number(url.searchParams.get('after') ?? 0);
      if (after === 20 && refuses) return send(response, {}, {}, 403);
      sent.push(request.url ?? '');
      const next = `<?${given(after + 10)}&${secret}>; rel=next, <?all>; rel=last`;
      send(response, slice(orders(30), url, after).rows, after < 20 ? { link: next } : {});
    });
    const [folder, stateDir] = [await temporaryFolder(), await temporaryFolder()];
    await expect(runOwn(server, ownText(link), folder, { stateDir })).rejects.toMatchObject({ code: 'E_SOURCE_AUTH' });
    const own = new URLSearchParams({ rest_api_key: ownKey }).toString();
    expect(sent).toEqual([`/v2/orders?limit=10&${own}`, `/v2/orders?${given(10)}&${own}`]);
    const files = (await readdir(stateDir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const stored = await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')));
    expect(stored.join()).toContain(given(20));
    expect(stored.join()).not.toMatch(/stolen|7f3a9c/);
    refuses = false;
    expect(await runOwn(server, ownText(link), folder, { stateDir })).toMatchObject({ read: 30, resumed: 2, warnings: [] });
    expect(sent).toContain(`/v2/orders?${given(20)}&${own}`);
  });

  test('may be relative, in the answer, with names that come twice, and bears no credential but ours', async () => {
    const rows = orders(30);
    const queries: string[] = [];
    const server = await ownServer((response, url) => {
      queries.push(url.search);
      const from = Number(url.searchParams.get('after') ?? 0);
      const next =
        from < 20 ? `?a=1&a=2&after=${from + 10}&rest_api_key=stolen-key&authorized_uid=7&t=${encodeURIComponent(ownKey)}` : null;
      send(response, { rows: rows.slice(from, from + 10), next });
    });
    const folder = await temporaryFolder();
    const told: unknown[] = [];
    const text = ownText(
      link.replace('scheme: link', 'scheme: link, next: /next').replace('    undeclared', '    rows: /rows\n    undeclared'),
    );
    expect(await runOwn(server, text, folder, { watch: { request: { start: (event) => void told.push(event) } } })).toMatchObject({
      read: 30,
    });
    const key = encodeURIComponent(ownKey).replaceAll('%20', '+');
    expect(queries.slice(0, 3)).toEqual([
      `?limit=10&rest_api_key=${key}`,
      `?a=1&a=2&after=10&rest_api_key=${key}`,
      `?a=1&a=2&after=20&rest_api_key=${key}`,
    ]);
    expect(JSON.stringify(told)).not.toMatch(/stolen|after=|rest_api_key/);
  });
});
