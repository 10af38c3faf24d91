import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import type * as Leadstream from '../../../src/index.js';
import { startCli } from '../../support/cli.js';
import { answer, json, ownServer, type Handler } from '../../support/odd-server.js';
import { pagesIn } from '../../support/spool.js';
import { filesBelow, folderWith, temporaryFolder } from '../../support/temporary.js';

/** Only the built files have the thread, which reads pages together. */
const built = pathToFileURL(join(process.cwd(), 'dist', 'index.js')).href;
const { loadPipeline, runPipeline } = (await import(built)) as typeof Leadstream;

const [limit, pages] = [10, 24];

const keys: Readonly<Record<string, string>> = { bridges: 'id', leads: 'lead_id' };

type Records = readonly Readonly<Record<string, unknown>>[];

/** Returns a page of a list of so many rows. */
function rowsOf(page: number, size = limit, rows = limit * pages, key = 'uid'): Records {
  const first = (page - 1) * size;
  const length = page < 1 ? 0 : Math.max(0, Math.min(size, rows - first));
  return Array.from({ length }, (_, row) => ({ uid: String(first + row), [key]: String(first + row), email: 'x@y.example', affid: '1' }));
}

const numberIn = (url: URL) => Number(url.searchParams.get('page'));
const sizeIn = (url: URL) => Number(url.searchParams.get('limit'));

/** Serves any list. */
const listOf =
  (rows = limit * pages, firstPage = 1): Handler =>
  (response, url) =>
    response.end(JSON.stringify(rowsOf(numberIn(url) - firstPage + 1, sizeIn(url), rows, keys[url.pathname.slice(5)])));
const list = listOf();

const cut: Handler = (response) => response.writeHead(200, { 'content-length': '1000' }).write('[{"uid":', () => response.destroy());
const mapped = (page: number, change: (row: Records[number], index: number) => object) => json(rowsOf(page).map(change));

/** What answers a page of the list. */
const faults: Readonly<Record<string, (page: number) => Handler>> = {
  'a cut answer': () => cut,
  'a reset': () => (response) => response.destroy(),
  '429 with Retry-After': () => answer(429, '{}', { 'retry-after': '0' }),
  '503': () => answer(503),
  '400': () => answer(400),
  '404': () => answer(404),
  'a slow answer': (page) => (response) => void setTimeout(() => response.end(JSON.stringify(rowsOf(page))), 300),
  'no JSON': () => answer(200, '<html>'),
  'a short page': (page) => json(rowsOf(page).slice(4)),
  'an empty page': () => json([]),
  'a page with more rows': (page) => json([...rowsOf(page), { uid: `more-${page}`, affid: '2' }]),
  'the page before it': (page) => json(rowsOf(page - 1)),
  'other fields': (page) => mapped(page, (row) => ({ ...row, unknown: 'x' })),
  'another order of fields': (page) => mapped(page, (row) => Object.fromEntries(Object.entries(row).toReversed())),
  'rows of several forms': (page) => mapped(page, (row, index) => (index % 2 === 0 ? row : { uid: row['uid'], affid: 7, more: [1] })),
  'no keys': (page) => mapped(page, ({ affid }) => ({ affid })),
  'fields of something else': (page) => mapped(page, (_, index) => ({ other: page + index })),
  'a key twice': (page) => mapped(page, (row, index) => (index === 3 ? { ...row, uid: '1' } : row)),
  'a huge page': (page) => mapped(page, (row) => ({ ...row, email: 'e'.repeat(300_000) })),
};

/** Answers a page of the list otherwise, so many times. */
function listWith(instead: Handler | undefined, place: number, times: number): Handler {
  let left = times;
  return (response, url, ...more) => {
    const isOdd = numberIn(url) === place && sizeIn(url) === limit && left > 0;
    if (isOdd) left -= 1;
    (isOdd && instead ? instead : list)(response, url, ...more);
  };
}

/** Answers a page of a short list with another one, or as one that is unknown. */
const insteadOf =
  (instead: (page: number) => number | undefined): Handler =>
  (response, url, ...more) => {
    const [page, asked] = [sizeIn(url) === limit ? instead(numberIn(url)) : numberIn(url), new URL(url)];
    asked.searchParams.set('page', String(page));
    (page === undefined ? answer(404) : listOf(190))(response, asked, ...more);
  };

/** Lists by where they end: what comes of a run, its last page, and settings. */
const ends: Readonly<Record<string, readonly [list: Handler, outcome: object, last: number, service?: string]>> = {
  'a full page': [listOf(240), { read: 240 }, 24],
  'a short page': [listOf(237), { read: 237 }, 24],
  'the last page of a turn': [listOf(190), { read: 190 }, 19],
  'the page behind it': [listOf(191), { read: 191 }, 20],
  'the first page': [listOf(10), { read: 10 }, 1],
  max_pages: [listOf(240), { read: 240 }, 24, ', max_pages: 24'],
  'more than max_pages in a turn': [listOf(240), { code: 'E_SOURCE_MAX_PAGES' }, 16, ', max_pages: 16'],
  'more than max_pages behind a turn': [listOf(240), { code: 'E_SOURCE_MAX_PAGES' }, 19, ', max_pages: 19'],
  'page 0 as its first': [listOf(237, 0), { read: 237 }, 23, ', first_page: 0'],
  'its last page again and again': [insteadOf((page) => Math.min(page, 19)), { read: 190 }, 19],
  'a page that is unknown': [insteadOf((page) => (page > 19 ? undefined : page)), { read: 190 }, 19],
};

interface Setting {
  readonly start?: (event: Leadstream.OperationEvent<'request'>) => void;
  readonly service?: string;
  readonly concurrency?: number;
  readonly from?: string;
}

function pipelineOf(url: string, output: string, { service = '', concurrency = 1, from = 'users' }: Setting): string {
  const own = `base_url: '${url}', auth: { rest_api_key: '\${KEY}' }, limit: ${limit}, concurrency: ${concurrency}, end_wait: 1ms`;
  const retry = 'retry: { attempts: 3, base: 1ms }';
  return `name: x\nservice: { ${own}, ${retry}${service} }\nfrom: ${from}\nto:\n  - csv: { path: '${output}' }\n`;
}

const env = { KEY: 'k-of-the-test' };

/** Runs a pipeline over a list, by default of users, and tells everything that a user and the service see of it. */
async function run(handler: Handler, setting: Setting = {}) {
  const folder = await temporaryFolder();
  const { url, requests } = await ownServer(handler);
  const { host } = new URL(url);
  const output = join(folder, 'users.csv');
  const pipeline = await loadPipeline({ text: pipelineOf(url, output, setting), file: join(folder, 'x.yaml') }, { env });
  const [retries, turns, events]: [number[], number[][], { readonly page: number | undefined; readonly text: string }[]] = [[], [], []];
  let turn: number[] | undefined;
  const asyncEnd = ({ run: _run, ...event }: Leadstream.OperationEvent<'request'>) => {
    if (turn === undefined) {
      turns.push((turn = []));
      queueMicrotask(() => (turn = undefined));
    }
    if (event.page !== undefined && event.purpose !== 'probe') turn.push(event.page);
    events.push({ page: event.page, text: JSON.stringify(event).replaceAll(host, '') });
  };
  const watch = { request: { asyncEnd, start: setting.start }, retry: ({ attempt }: { attempt: number }) => void retries.push(attempt) };
  const ran = await runPipeline(pipeline, { stateDir: join(folder, 'state'), watch }).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error)) throw error;
    // How many pages behind the end had been requested is a matter of time.
    return { code: error.code, message: error.code === 'E_SOURCE_ORDER' ? '' : error.message.replaceAll(host, '') };
  });
  const bytes = await readFile(output, 'utf8').catch(() => undefined);
  if ('message' in ran) return { turns, requests, events, outcome: { ...ran, retries, bytes } };
  const { read, pages: count, findings, consistency, warnings } = ran;
  const outcome = { read, count, findings, consistency: { ...consistency, waitedMs: 0 }, warnings, retries, bytes };
  return { turns, requests, events, outcome };
}

/** The pages that the first, a middle and the last request of a turn are for. */
const places = { first: 0, middle: 0, last: 0 };

/** Runs with pages together and one by one, and expects the same. What chains request behind an end or failure is a matter of time. */
async function compare(answers: () => Handler, setting: Setting = {}, last = Infinity) {
  const seen = async (service = '') => {
    const { requests, events, outcome } = await run(answers(), { ...setting, service: (setting.service ?? '') + service });
    const sent = [
      ...requests.flatMap((url) => (numberIn(url) <= last ? [url.search] : [])),
      ...events.flatMap((event) => ((event.page ?? 0) <= last ? [event.text] : [])),
    ];
    return { outcome, sent: sent.toSorted() };
  };
  const [together, single] = await Promise.all([seen(), seen(`, window: ${2 * (setting.concurrency ?? 1)}`)]);
  expect(together).toEqual(single);
  return together.outcome;
}

describe('pages that are read together', () => {
  beforeAll(async () => {
    // A machine that is busy makes the pages slow, and turns short.
    for (let tries = 0; tries < 10 && places.last === 0; tries += 1) {
      const { turns } = await run(list);
      const turn = turns.find(({ length }) => length >= 5) ?? [];
      [places.first = 0, , places.middle = 0] = turn;
      places.last = turn.at(-1) ?? 0;
    }
  });

  test('are up to sixteen, in turns of a chain each', async () => {
    const { turns } = await run(listOf(4_000));
    expect(Math.max(...turns.map(({ length }) => length))).toBeGreaterThanOrEqual(5);
    expect(Math.max(...turns.map(({ length }) => length))).toBeLessThanOrEqual(16);
    expect([...new Set(turns.flat())]).toEqual(Array.from({ length: 401 }, (_, index) => index + 1));
    expect(places.middle).toBeGreaterThan(places.first);
  });

  test.each(Object.entries(faults))('have the outcome, requests and events of single pages, with %s', async (name, fault) => {
    for (const place of Object.values(places)) {
      // How far behind a page that comes again pages were requested is a matter of time.
      const last = name === 'the page before it' ? 0 : undefined;
      for (const times of [1, Infinity]) await compare(() => listWith(fault(place), place, times), {}, last);
    }
    const { middle } = places;
    if (name !== 'the page before it') await compare(() => listWith(fault(middle), middle, 1), { concurrency: 4 }, middle);
  });

  test.each(Object.entries(ends))('end as single pages do, with %s', async (_name, [all, outcome, last, service = '']) => {
    for (const concurrency of [1, 4])
      expect(await compare(() => all, { service, concurrency }, concurrency === 1 ? undefined : last)).toMatchObject(outcome);
  });

  test('of a list that begins again and again are soon refused', async () => {
    for (const concurrency of [1, 4]) {
      const { outcome, turns } = await run(
        insteadOf((page) => ((page - 1) % 19) + 1),
        { concurrency },
      );
      expect(outcome).toMatchObject({ code: 'E_SOURCE_ENDLESS' });
      // As many as may come without new rows, and what is already granted.
      expect(new Set(turns.flat()).size).toBeLessThan(19 + 10 + 16 * (concurrency + 1));
    }
  });

  test('have an event each, with its status and bytes', async () => {
    const { events, requests } = await run(list);
    const bytes = JSON.stringify(rowsOf(17)).length;
    const page = {
      url: 'http:///api/users?page=17&limit=10',
      collection: 'users',
      page: 17,
      purpose: 'page',
      attempt: 1,
      status: 200,
      bytes,
    };
    expect(events.map(({ text }) => JSON.parse(text) as unknown)).toContainEqual(page);
    expect(events).toHaveLength(requests.length);
  });

  test('begin before they are requested, for who follows that', async () => {
    const steps: string[] = [];
    const start: Setting['start'] = ({ page, purpose }) => void (page === 17 && purpose === 'page' && steps.push('start'));
    await run(
      listWith((...asked) => (steps.push('requested'), list(...asked)), 17, 1),
      { start },
    );
    expect(steps).toEqual(['start', 'requested']);
  });

  test.each<readonly [number, readonly string[]]>([
    [1, []],
    [4, []],
    [1, ['bridges', 'users']],
    [4, ['bridges', 'users']],
  ])('are not requested while the service asks to wait, with %i at a time and the joins %j', async (concurrency, sides) => {
    let [waits, late, sent] = [0, 0, 0];
    const waiting: Handler = (response, ...request) => {
      sent += 1;
      if (waits > performance.now()) late += 1;
      if (sent !== 60 + 60 * sides.length) return listOf(1_500)(response, ...request);
      waits = performance.now() + 900;
      return response.writeHead(429, { 'retry-after': '1' }).end();
    };
    const steps = sides.map((side) => `{ join: { with: ${side}, on: { uid: ${keys[side] ?? 'uid'} }, as: ${side} } }`);
    const { outcome } = await run(waiting, { concurrency, from: `leads\nsteps: [${steps.join()}]` });
    expect(outcome).toMatchObject({ read: 1500, retries: [1] });
    // Every chain of a list had already begun one, and begins another before it knows of the failure.
    expect(late).toBeLessThan(2 * concurrency * (1 + sides.length));
  });

  test.each([60, 150, 240])('are not requested again behind a run that was killed at request %i', async (killedAt) => {
    let kill: (() => void) | undefined;
    let asked: number[] = [];
    const { url } = await ownServer((response, sent, attempt, request) => {
      if (request.headers['x-leadstream-purpose'] === undefined && sizeIn(sent) === limit) asked.push(numberIn(sent));
      if (asked.length === killedAt) kill?.();
      listOf(3_000)(response, sent, attempt, request);
    });
    const cwd = await folderWith({ 'p.yaml': pipelineOf(url, 'x.csv', { concurrency: 4 }) });
    const begin = () => startCli(['run', 'p.yaml'], { cwd, env });
    const { process: child, finished } = begin();
    kill = () => child.kill('SIGKILL');
    await finished;
    kill = undefined;
    const log = (await filesBelow(cwd)).find((name) => name.endsWith('pages.log')) ?? '';
    const spooled = await pagesIn(join(cwd, log));
    const again = new Set(asked.filter((page) => !spooled.includes(page)));
    expect(again.size).toBeLessThanOrEqual(4 * 16);
    asked = [];
    expect((await begin().finished).code).toBe(0);
    expect(asked.filter((page) => spooled.includes(page))).toEqual([]);
    expect(await readFile(join(cwd, 'x.csv'), 'utf8')).toBe((await run(listOf(3_000), { concurrency: 4 })).outcome.bytes);
  });
});
