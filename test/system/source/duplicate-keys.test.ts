import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, defineCollection } from '../../../src/index.js';
import { byCursor, byLink, byOffset, byPage, orders, ownServer, ownText, runOwn, send } from '../../support/odd-server.js';
import type { Handler, Order } from '../../support/odd-server.js';
import { temporaryFolder } from '../../support/temporary.js';

type Serve = (rows: readonly Order[]) => Handler;

const declared = (paging: string, more = '') => `    path: /orders\n    key: [no]\n    undeclared: drop\n    paging: ${paging}${more}`;
const lists: Readonly<Record<string, readonly [declared: string, serve: Serve]>> = {
  numbered: [declared('{ scheme: page, param: p, limit: size, first: 1 }'), (rows) => byPage(rows, 1)],
  offset: [declared('{ scheme: offset, param: skip, limit: top }', '\n    rows: /items'), byOffset],
  cursor: [declared('{ scheme: cursor, next: /paging/next, param: cursor }', '\n    rows: /data/items'), byCursor],
  link: [declared('{ scheme: link }'), byLink],
  'one answer': [declared('{ scheme: none }'), (rows) => (response) => send(response, rows)],
};
const kinds = Object.keys(lists);
const to = 'to: [{ ndjson: { path: orders.ndjson, types: text } }]';

/** Rows with these keys, each different. */
const keyed = (...keys: readonly number[]): readonly Order[] =>
  orders(keys.length).map((row, index) => ({ ...row, no: keys[index], total: 100 + index }));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Runs a pipeline over a list. @returns Its report, and the totals that it published, or what refused it. */
async function run(kind: string, rows: readonly Order[] | Handler, more = '') {
  const [collection, serve] = lists[kind] ?? ['', byLink];
  const server = await ownServer(typeof rows === 'function' ? rows : serve(rows));
  const folder = await temporaryFolder();
  const report = await runOwn(server, ownText(collection, `from: orders\n${more}\n${to}`), folder).catch((error: unknown) => error);
  if (report instanceof Error) return { failure: report };
  const text = await readFile(join(folder, 'orders.ndjson'), 'utf8');
  const totals = text
    .split('\n')
    .filter(Boolean)
    .map((line) => Number((JSON.parse(line) as { total: string }).total));
  return { report, totals };
}

/** Serves one list after another, each for a number of requests, the last one for the rest. */
const inTurns = (serve: Serve, ...turns: readonly (readonly [rows: readonly Order[], requests: number])[]): Handler => {
  let requests = 0;
  return (...asked) => {
    requests += 1;
    let until = 0;
    const now = turns.find(([, count]) => requests <= (until += count)) ?? turns.at(-1);
    serve(now?.[0] ?? [])(...asked);
  };
};

describe.each(kinds)('a list (%s) whose key identifies no row', (kind) => {
  test.each([
    ['in one answer', keyed(0, 0, 0, 0, 1, 1, 1, 1), /at least 6 rows .*no '0'.*on_duplicate_key: keep_all/, [100, 104]],
    [
      'on other pages',
      keyed(...upTo(15), ...upTo(15)),
      /at least \d+ rows? .*no '\d+'.*on_duplicate_key: keep_all/,
      upTo(15).map((at) => 99 + at),
    ],
  ])('is refused with rows of one key %s, unless the file says what to keep', async (_, rows, message, first) => {
    expect((await run(kind, rows)).failure).toMatchObject({ code: 'E_GATE_KEY', exit: 65, message: expect.stringMatching(message) });
    expect(await run(kind, rows, 'on_duplicate_key: keep_first')).toMatchObject({ totals: first });
    expect(await run(kind, rows, 'on_duplicate_key: keep_all')).toMatchObject({ totals: rows.map(({ total }) => total) });
    // Without the check no key is kept, and no row dropped.
    expect(await run(kind, rows, 'consistency: off')).toMatchObject({ totals: rows.map(({ total }) => total) });
  });

  test('is not one with rows that are repeated whole, or without a key', async () => {
    const whole = keyed(...upTo(15));
    const [before, now] = [await run(kind, [...whole, ...whole]), await run(kind, [...whole, ...whole], 'on_duplicate_key: keep_all')];
    expect(before).toMatchObject({ report: { consistency: { conflicts: 0 } } });
    expect(now.totals).toEqual(before.totals);
    const without = keyed(...upTo(15)).map((row, at): Order => ({ ...row, no: at % 5 === 0 ? at + 1 : '' }));
    expect(await run(kind, without)).toMatchObject({ totals: without.map(({ total }) => total) });
    // So is a whole page of them, but rows that lack the field may be of another list.
    const page = without.map((row, at): Order => ({ ...row, no: at < 10 ? [null, ''][at % 2] : at }));
    expect(await run(kind, page)).toMatchObject({ totals: without.map(({ total }) => total) });
    const { failure } = await run(
      kind,
      page.map(({ no: _no, ...row }) => row),
    );
    expect(failure).toMatchObject({ code: 'E_SOURCE_ANSWER', message: expect.stringContaining('has the key (no)') });
  });

  test('is not one whose rows are updated, and move, while it is read or read again', async () => {
    const rows = keyed(...upTo(35));
    const [serve] = [lists[kind]?.[1] ?? byLink];
    const updated = (...places: readonly number[]) => [
      ...rows.filter((_, at) => !places.includes(at)),
      ...places.map((at) => ({ ...rows[at], total: 900 + at })),
    ];
    for (const moment of [1, 3, 6]) {
      const { report } = await run(kind, inTurns(serve, [rows, moment], [updated(0, 3), 2], [updated(0, 3, 12), Infinity]));
      expect(report).toMatchObject({ warnings: [], consistency: { conflicts: 0 } });
    }
  });
});

test('a row on two pages is not two rows where each answer gives it another value', async () => {
  let requests = 0;
  const stamped: Handler = (response, url) => {
    const from = Number(url.searchParams.get('cursor') ?? 0);
    requests += 1;
    // The last row of a page is the first one of the next.
    const items = orders(40)
      .slice(from, from + 10)
      .map((row) => ({ ...row, total: requests }));
    send(response, { data: { items }, paging: from + 10 < 40 ? { next: String(from + 9) } : {} });
  };
  const { report } = await run('cursor', stamped);
  expect(report).toMatchObject({ read: 44, warnings: [], consistency: { conflicts: 0, duplicates: 4 } });
});

test('a row whose key is personal is not named', async () => {
  const rows = keyed(1, 2).map((row) => ({ ...row, email: 'one@example.com' }));
  const server = await ownServer(byLink(rows));
  const text = ownText((lists.link?.[0] ?? '').replace('[no]', '[email]'));
  const failure: unknown = await runOwn(server, text).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'E_GATE_KEY', message: expect.not.stringContaining('one@') });
  expect(failure).toMatchObject({ message: expect.stringContaining('page 1') });
});

test('dedupe by the key of the collection still applies to a list of which all rows are kept', async () => {
  const rows = keyed(0, 0, 1);
  expect(await run('numbered', rows, 'on_duplicate_key: keep_all\nsteps: [{ dedupe: {} }]')).toMatchObject({ totals: [100, 102] });
});

test('a program is told at the end of the stream, after the rows, and may keep all', async () => {
  const own = defineCollection('orders', {
    ...{ path: '/orders', key: ['no'], paging: { scheme: 'link' }, undeclared: 'drop' },
    fields: { no: 'text', total: 'decimal' },
  });
  const server = await ownServer(byLink(keyed(0, 0, 1)));
  const service = connect({ baseUrl: server.url, auth: { bearer: 'token-7f3a9c' }, endWaitMs: 1, collections: [own] });
  const read = async (stream: AsyncIterable<{ readonly total: string | null }>) => {
    const totals: (string | null)[] = [];
    const failure: unknown = await (async () => {
      for await (const { total } of stream) totals.push(total);
    })().catch((error: unknown) => error);
    return { totals, failure };
  };
  const stream = service.collection('orders');
  expect(await read(stream)).toMatchObject({ totals: ['100', '102'], failure: { code: 'E_GATE_KEY', exit: 65 } });
  expect(await read(stream.with({ onDuplicateKey: 'keep_first' }))).toEqual({ totals: ['100', '102'], failure: undefined });
  expect(await read(stream.with({ onDuplicateKey: 'keep_all' }))).toEqual({ totals: ['100', '101', '102'], failure: undefined });
  expect(() => stream.with({ onDuplicateKey: 'first' as never })).toThrow(/onDuplicateKey/);
  await service.close();
});
