import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { byCursor, byOffset, orders, ownServer, ownText, runOwn, send, slice } from '../../support/odd-server.js';
import type { Handler, Order } from '../../support/odd-server.js';
import { temporaryFolder } from '../../support/temporary.js';

const key = '    path: /orders\n    key: [no]\n    undeclared: drop';
const cursor = `${key}\n    rows: /data/items\n    paging: { scheme: cursor, next: /paging/next, param: cursor }`;
const last = (field: string) => `${key}\n    paging: { scheme: cursor, last: ${field}, param: after }`;

const file = (mode: string) => `from: orders\nconsistency: ${mode}\nto: [{ ndjson: { path: orders.ndjson } }]`;

async function written(folder: string): Promise<readonly number[]> {
  const lines = (await readFile(join(folder, 'orders.ndjson'), 'utf8')).split('\n').filter(Boolean);
  return lines.map((line) => Number((JSON.parse(line) as { no: string }).no)).toSorted((a, b) => a - b);
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Serves the rows that follow the value of a field, exclusively. */
const byLast =
  (rows: readonly Order[], field: string): Handler =>
  (response, url) => {
    const after = url.searchParams.get('after');
    const rest = after === null ? rows : rows.filter((row) => Number(row[field]) > Number(after));
    send(response, slice(rest, url, 0).rows);
  };

/** Answers the nth address wrongly until some time has passed since it was first requested. */
function outage(handler: Handler, nth: number, ms: number, wrong: (right: Handler) => Handler): Handler {
  const since = new Map<string, number>();
  return (response, url, ...rest) => {
    const now = performance.now();
    if (!since.has(url.search)) since.set(url.search, now);
    const isOut = [...since.keys()].indexOf(url.search) === nth && now - (since.get(url.search) ?? 0) <= ms;
    (isOut ? wrong(handler) : handler)(response, url, ...rest);
  };
}

/** Sends what a handler would, changed. */
const changed =
  (change: (body: Record<string, unknown>) => unknown) =>
  (right: Handler): Handler =>
  (response, ...asked) => {
    const end = response.end.bind(response) as (body: string) => typeof response;
    right(
      Object.assign(response, {
        end: (body: string) => end(JSON.stringify(change(JSON.parse(body) as Record<string, unknown>))),
        writeHead: (status: number) => Object.getPrototypeOf(response).writeHead.call(response, status) as typeof response,
      }),
      ...asked,
    );
  };

test.each([
  [1, 0],
  ['true', 'false'],
])('a response may say with %p that there is more, and with %p that there is none', async (more, none) => {
  const server = await ownServer((response, url) => {
    const rows = orders(30)
      .filter(({ no }) => Number(no) > Number(url.searchParams.get('after')))
      .slice(0, 10);
    send(response, { data: rows, has_more: rows.at(-1)?.no === 30 ? none : more });
  });
  const text = ownText(`${key}\n    rows: /data\n    paging: { scheme: cursor, last: no, more: /has_more, param: after }`, file('repair'));
  expect(await runOwn(server, text)).toMatchObject({ read: 30, consistency: { outcome: 'stable' } });
});

describe('the end of a list without page numbers', () => {
  test('is not believed where an error comes with an empty list', async () => {
    // Errors are requested again as often as settings say.
    const wrong = (): Handler => (response) => send(response, { data: { items: [] }, code: '503' });
    const folder = await temporaryFolder();
    await runOwn(await ownServer(outage(byCursor(orders(100)), 4, 0, wrong)), ownText(cursor, file('check')), folder);
    expect(await written(folder)).toHaveLength(100);
  });

  test('is not a page shorter than others where others are short, too', async () => {
    const uneven: Handler = (response, url) => {
      const from = Number(url.searchParams.get('cursor') ?? 0);
      const to = Math.min(60, from + (from % 3 === 2 ? 7 : 10));
      send(response, { data: { items: orders(60).slice(from, to) }, paging: to < 60 ? { next: to } : {} });
    };
    const wrong = changed(({ data }) => ({ data }));
    for (const nth of [3, 5]) {
      const server = await ownServer(outage(uneven, nth, 150, wrong));
      const folder = await temporaryFolder();
      await runOwn(server, ownText(cursor, file('check')), folder, { set: { 'service.end_wait': '400ms' } });
      expect([nth, (await written(folder)).length]).toEqual([nth, 60]);
    }
  });

  test.each([
    ['nothing', { data: { items: [] } }],
    ['the first page', { data: { items: orders(10) }, paging: { next: 'MTA' } }],
  ])('is not known where a cursor has expired and gets %s', async (_, expired) => {
    const times = new Map<string, number>();
    const server = await ownServer((response, url, ...rest) => {
      const time = (times.get(url.search) ?? 0) + 1;
      times.set(url.search, time);
      // The cursor is still known when it is read, when it is requested again at once, and when it is checked.
      if (time > 3 && url.searchParams.has('cursor')) send(response, expired);
      else byCursor(orders(20))(response, url, ...rest);
    });
    let waited = 0;
    const options = { set: { 'service.end_wait': '300ms' }, watch: { wait: () => void (waited += 1) } };
    const report = await runOwn(server, ownText(cursor, file('check')), await temporaryFolder(), options);
    expect(report).toMatchObject({ read: 20, warnings: [{ code: 'W_SOURCE_DRIFT' }], consistency: { drift: ['page 2 has changed'] } });
    expect(waited).toBe(1);
  });

  test('of a pass that repairs is re-checked, too', async () => {
    // Two rows go while page 4 is read, so that page 5 begins two rows late, and the pass meets an outage.
    let requests = 0;
    const rows = orders(60);
    const left = rows.filter(({ no }) => no !== 5 && no !== 6);
    const serve: Handler = (...asked) => byCursor((requests += 1) > 4 ? left : rows)(...asked);
    const times = new Map<string, number>();
    let since = Infinity;
    const server = await ownServer((response, url, ...rest) => {
      const time = (times.get(url.search) ?? 0) + 1;
      times.set(url.search, time);
      const cursor = Buffer.from(url.searchParams.get('cursor') ?? '', 'base64url').toString();
      if (cursor === '20' && time === 3) since = performance.now();
      const isOut = cursor === '20' && performance.now() - since < 350 && time >= 3;
      (isOut ? changed(({ data }) => ({ data }))(serve) : serve)(response, url, ...rest);
    });
    const folder = await temporaryFolder();
    const report = await runOwn(server, ownText(cursor, file('repair')), folder, { set: { 'service.end_wait': '400ms' } });
    expect(report.consistency).toMatchObject({ outcome: 'repaired', repaired: 2 });
    expect(new Set(await written(folder))).toEqual(new Set(upTo(60)));
  });

  test('costs one wait at most, and none where the last page is short', async () => {
    const set = { 'service.end_wait': '1s' };
    for (const [count, waits] of [
      [95, 0],
      [100, 1],
      [0, 1],
      [7, 1],
    ] as const) {
      const server = await ownServer(byCursor(orders(count)));
      let waited = 0;
      const watch = { wait: () => void (waited += 1) };
      const report = await runOwn(server, ownText(cursor, file('check')), await temporaryFolder(), { watch, set });
      expect(report).toMatchObject({ read: count, warnings: count === 0 ? [{ code: 'W_SOURCE_EMPTY' }] : [] });
      expect([count, waited]).toEqual([count, waits]);
    }
  });

  test('is never a page whose last row lacks the field after which the list continues', async () => {
    const rows = orders(40).map((row) => (row.no === 20 ? { ...row, total: null } : row));
    const server = await ownServer((response, url) => {
      const at = rows.findIndex(({ total }) => String(total) === url.searchParams.get('after'));
      send(response, slice(rows, url, at + 1).rows);
    });
    await expect(runOwn(server, ownText(last('total'), file('off')))).rejects.toMatchObject({
      code: 'E_SOURCE_CURSOR',
      message: expect.stringContaining('the last row has no total'),
    });
  });

  test('is a warning on the first page if the size is not honoured, and an error under strict', async () => {
    const server = await ownServer((response) => send(response, { data: { items: orders(7) } }));
    const text = ownText(cursor, file('check'));
    const report = await runOwn(server, text);
    expect(report.warnings).toMatchObject([{ code: 'W_SOURCE_UNCHECKED' }]);
    await expect(runOwn(server, text, await temporaryFolder(), { set: { 'service.strict': 'true' } })).rejects.toMatchObject({ exit: 65 });
    expect(await runOwn(server, ownText(cursor, file('prove')))).toMatchObject({
      consistency: { outcome: 'stable' },
    });
  });

  test('may be an empty list beside a code of success that is no code of HTTP', async () => {
    const offset = `${key}\n    rows: /items\n    paging: { scheme: offset, param: skip, limit: top }`;
    const server = await ownServer(changed((body) => ({ code: 20_000, ...body }))(byOffset(orders(30))));
    expect(await runOwn(server, ownText(offset, file('check')))).toMatchObject({ read: 30, warnings: [] });
  });
});

test('a list that continues after a field of the last row may have rows with one value that no border divides', async () => {
  const values = [2, ...Array<number>(16).fill(1), 2, ...Array<number>(12).fill(1)].flatMap((size, index) =>
    Array<number>(size).fill(index + 1),
  );
  const rows = orders(values.length).map((row, index) => ({ ...row, total: values[index] }));
  const folder = await temporaryFolder();
  const report = await runOwn(await ownServer(byLast(rows, 'total')), ownText(last('total'), file('check')), folder);
  expect(await written(folder)).toEqual(upTo(rows.length));
  expect(report.warnings.filter(({ code }) => code !== 'W_SOURCE_DRIFT')).toEqual([]);
});
