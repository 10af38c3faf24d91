import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { duckdb } from '../../support/duckdb.js';
import { json, byOffset, byPage, orders, ownServer, ownText, runOwn, send, slice } from '../../support/odd-server.js';
import { temporaryFolder } from '../../support/temporary.js';

const paths = (server: { readonly requests: readonly URL[] }) =>
  server.requests.map(({ pathname, searchParams }) => {
    const shown = new URLSearchParams(searchParams);
    shown.delete('rest_api_key');
    return `${pathname}?${shown.toString()}`;
  });

describe('a collection of one’s own by page number', () => {
  const paged = `    path: /orders
    key: [no]
    undeclared: drop
    paging: { scheme: page, param: p, limit: size, first: 0 }`;

  test('is read completely, values in their declared type, and what is nested by its pointer', async () => {
    const [rows, folder] = [orders(137), await temporaryFolder()];
    const server = await ownServer(byPage(rows, 0));
    const report = await runOwn(server, ownText(paged, 'from: orders\nto: [{ parquet: { path: lake } }]'), folder);
    expect(report).toMatchObject({ read: 137, collection: 'orders', warnings: [], consistency: { outcome: 'stable', counted: 'rows' } });
    const [found] = await duckdb(
      `select count(*)::int as n, count(distinct no)::int as keys, sum(total) as total, count(*) filter (paid)::int as paid, count(email)::int as mails, ` +
        `sum(lat) as lat, min(city) as city, min(tags) as tags from read_parquet('${join(folder, 'lake')}/*.parquet')`,
    );
    const sum = (of: (index: number) => number) => rows.reduce((all, _, index) => all + of(index), 0);
    expect(found).toEqual({
      n: 137,
      keys: 137,
      total: sum((index) => index * 1.25),
      paid: 69,
      mails: rows.filter(({ email }) => email !== null).length,
      lat: sum((index) => index / 8),
      city: 'City 0',
      tags: '["t0","all"]',
    });
    expect(paths(server)[0]).toBe('/v2/orders?p=0&size=10');
  });

  test('keeps what nobody declared, of the record around a nested field too, unless told to drop it', async () => {
    const rows = orders(3).map((order) => ({ ...order, address: { ...(order.address as object), zip: '02139' } }));
    const [server, folder] = [await ownServer(byPage(rows, 0)), await temporaryFolder()];
    const report = await runOwn(server, ownText(paged.replace('drop', 'keep')), folder);
    expect(report.findings.unknown).toEqual({ address: 3 });
    expect(report.warnings.map(({ code }) => code)).toEqual(['W_SOURCE_FIELD_NEW']);
    const [row] = await duckdb(`from read_json('${join(folder, 'orders.ndjson')}') limit 1`);
    expect(Object.keys(row ?? {})).toEqual(['no', 'total', 'paid', 'email', 'address.city', 'address.geo.lat', 'tags', 'address']);
    expect(row?.address).toBe('{"zip":"02139"}');
    // What is nested is in one place, so that a mask hides it.
    const masked = 'from: orders\nsteps: [{ mask: { city: drop } }]\nto: [{ ndjson: { path: masked.ndjson } }]';
    await runOwn(server, ownText(paged.replace('drop', 'keep'), masked), folder);
    const written = await readFile(join(folder, 'masked.ndjson'), 'utf8');
    expect(written).toContain('02139');
    expect(written).not.toContain('City');
  });

  test.each([
    ['an empty object', 'empty_object', (): unknown => ({})],
    ['null', 'null', (): unknown => null],
  ])('ends with %s where that is declared, and only there', async (_, end, nothing) => {
    const rows = orders(25);
    const server = () =>
      ownServer((response, url, ...rest) =>
        Number(url.searchParams.get('p')) * Number(url.searchParams.get('size')) >= rows.length
          ? send(response, nothing())
          : byPage(rows, 0)(response, url, ...rest),
      );
    const folder = await temporaryFolder();
    expect(await runOwn(await server(), ownText(`${paged}\n    end: ${end}`), folder)).toMatchObject({ read: 25 });
    await expect(runOwn(await server(), ownText(paged), folder)).rejects.toMatchObject({ code: 'E_SOURCE_ANSWER', exit: 69 });
  });

  test('is read from a service whose pages have a size of their own', async () => {
    const rows = orders(47);
    const server = await ownServer((response, url) => {
      const page = Number(url.searchParams.get('p'));
      send(response, rows.slice(20 * page, 20 * page + 20));
    });
    const report = await runOwn(server, ownText(paged.replace('limit: size', 'limit: none')));
    expect(report).toMatchObject({ read: 47, consistency: { outcome: 'stable', counted: 'pages' } });
    expect(server.requests.some(({ searchParams }) => searchParams.has('limit') || searchParams.has('none'))).toBe(false);
  });

  test('is another source than one of the same name at another path', async () => {
    const folder = await temporaryFolder();
    const stateDir = join(folder, 'state');
    const rows = orders(40);
    const server = await ownServer((response, url, attempt, request) =>
      url.pathname === '/v2/orders' && Number(url.searchParams.get('p')) > 2
        ? send(response, {}, {}, 403)
        : byPage(url.pathname === '/v2/orders' ? rows : rows.slice(0, 30), 0)(response, url, attempt, request),
    );
    await expect(runOwn(server, ownText(paged), folder, { stateDir })).rejects.toMatchObject({ exit: 77 });
    expect(await runOwn(server, ownText(paged.replace('/orders', '/other')), folder, { stateDir })).toMatchObject({ resumed: 0, read: 30 });
  });
});

describe('a collection of one’s own by offset', () => {
  const offset = `    path: /orders
    key: [no]
    rows: /items
    undeclared: drop
    paging: { scheme: offset, param: skip, limit: top }`;

  test('is read completely, also from a service that gives fewer rows than it was asked for', async () => {
    const server = await ownServer(byOffset(orders(230)));
    const report = await runOwn(server, ownText(offset), await temporaryFolder(), { set: { 'service.limit': '150' } });
    expect(report).toMatchObject({ read: 230, consistency: { outcome: 'stable', counted: 'rows' } });
    expect(report.warnings.map(({ code }) => code)).toEqual(['W_SOURCE_CAP']);
    expect(paths(server)).toEqual(
      expect.arrayContaining(['/v2/orders?skip=0&top=150', '/v2/orders?skip=100&top=100', '/v2/orders?skip=229&top=1']),
    );
  });

  test('is proven by passes with other borders', async () => {
    const server = await ownServer(byOffset(orders(95)));
    const text = ownText(offset, 'from: orders\nconsistency: prove\nto: [{ csv: { path: o.csv } }]');
    expect(await runOwn(server, text)).toMatchObject({ read: 95, consistency: { outcome: 'proven', passes: 2 } });
  });

  test('is resumed when the last page has the same rows, whatever else is in the response', async () => {
    const [folder, limits] = [await temporaryFolder(), { 'service.limit': '10', 'service.concurrency': '1' }];
    const options = { stateDir: join(folder, 'state'), set: limits };
    let [requests, isDown] = [0, true];
    const server = await ownServer((response, url) => {
      const skip = Number(url.searchParams.get('skip'));
      requests += 1;
      if (isDown && skip === 30) return send(response, {}, {}, 403);
      send(response, { items: slice(orders(40), url, skip, 'top').rows, requests });
    });
    await expect(runOwn(server, ownText(offset), folder, options)).rejects.toMatchObject({ exit: 77 });
    isDown = false;
    expect(await runOwn(server, ownText(offset), folder, options)).toMatchObject({ read: 40, resumed: 3, warnings: [] });
  });

  test('fails with the place when its pointer meets no list', async () => {
    const server = await ownServer(byOffset(orders(9)));
    const wrong = (rows: string) =>
      runOwn(server, ownText(offset.replace('/items', rows)), '/tmp', { set: { 'to.0.ndjson.path': '/tmp/none.ndjson' } });
    await expect(wrong('/data/items')).rejects.toMatchObject({
      code: 'E_SOURCE_ROWS',
      exit: 69,
      message: expect.stringContaining('there is no list at /data/items; the response is an object with the keys items, total'),
    });
    await expect(wrong('/total')).rejects.toMatchObject({ message: expect.stringContaining('there is no list at /total but a number') });
  });
});

test('a collection of one’s own in one answer is read by a single kind of request, without parameters of pages', async () => {
  const server = await ownServer(json({ data: orders(50) }));
  const none =
    '    path: /orders\n    key: [no]\n    rows: /data\n    undeclared: drop\n    query: { status: any }\n    paging: { scheme: none }';
  expect(await runOwn(server, ownText(none))).toMatchObject({ read: 50, consistency: { outcome: 'stable' } });
  expect(new Set(paths(server))).toEqual(new Set(['/v2/orders?status=any']));
});
