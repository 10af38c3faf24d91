import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import type * as Leadstream from '../../../src/index.js';
import { startCli } from '../../support/cli.js';
import { ownServer, type Handler } from '../../support/odd-server.js';
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

const send =
  (value: unknown): Handler =>
  (response) =>
    response.end(JSON.stringify(value));
const status =
  (code: number, headers = {}): Handler =>
  (response) =>
    response.writeHead(code, headers).end('{}');

const cut: Handler = (response) => response.writeHead(200, { 'content-length': '1000' }).write('[{"uid":', () => response.destroy());
const mapped = (page: number, change: (row: Records[number], index: number) => object) => send(rowsOf(page).map(change));

/** What answers a page of the list. */
type Fault = (page: number) => Handler;

const faults: Readonly<Record<string, Fault>> = {
  'a cut answer': () => cut,
  'a reset': () => (response) => response.destroy(),
  '429 with Retry-After': () => status(429, { 'retry-after': '0' }),
  '503': () => status(503),
  '400': () => status(400),
  '404': () => status(404),
  'a slow answer': (page) => (response) => void setTimeout(() => response.end(JSON.stringify(rowsOf(page))), 300),
  'no JSON': () => (response) => response.end('<html>'),
  'a short page': (page) => send(rowsOf(page).slice(4)),
  'an empty page': () => send([]),
  'a page with more rows': (page) => send([...rowsOf(page), { uid: `more-${page}`, affid: '2' }]),
  'other fields': (page) => mapped(page, (row) => ({ ...row, unknown: 'x' })),
  'another order of fields': (page) => mapped(page, (row) => Object.fromEntries(Object.entries(row).toReversed())),
  'rows of several forms': (page) => mapped(page, (row, index) => (index % 2 === 0 ? row : { uid: row['uid'], affid: 7, more: [1] })),
  'no keys': (page) => mapped(page, ({ affid }) => ({ affid })),
  'fields of something else': (page) => mapped(page, (_, index) => ({ other: page + index })),
  'a key twice': (page) => mapped(page, (row, index) => (index === 3 ? { ...row, uid: '1' } : row)),
  'a huge page': (page) => mapped(page, (row) => ({ ...row, email: 'e'.repeat(300_000) })),
};

type Requested = Leadstream.OperationEvent<'request'>;
type Watching = NonNullable<Leadstream.Watcher['request']>;

interface Setting {
  readonly watch?: Leadstream.Watcher;
  readonly service?: string;
  readonly concurrency?: number;
}

function pipelineOf(url: string, output: string, { service = '', concurrency = 1 }: Setting): string {
  const own = `base_url: '${url}', auth: { rest_api_key: '\${KEY}' }, limit: ${limit}, concurrency: ${concurrency}, end_wait: 1ms`;
  const retry = 'retry: { attempts: 3, base: 1ms }';
  return `name: x\nservice: { ${own}, ${retry}${service} }\nfrom: users\nto:\n  - csv: { path: '${output}' }\n`;
}

function toldBy({ read, pages: count, findings, consistency, warnings }: Leadstream.RunReport) {
  return { read, count, findings, consistency: { ...consistency, waitedMs: 0 }, warnings };
}

/** Runs a pipeline over a list of users, and tells everything that a user and the service see of it. */
async function run(answer: Handler, setting: Setting = {}) {
  const folder = await temporaryFolder();
  const { url, requests } = await ownServer(answer);
  const output = join(folder, 'users.csv');
  const pipeline = await loadPipeline(
    { text: pipelineOf(url, output, setting), file: join(folder, 'x.yaml') },
    { env: { KEY: 'k-of-the-test' } },
  );
  const [retries, turns]: [number[], number[][]] = [[], []];
  let turn: number[] | undefined;
  const request = ({ page, purpose }: Requested) => {
    if (turn === undefined) {
      turns.push((turn = []));
      queueMicrotask(() => (turn = undefined));
    }
    if (page !== undefined && purpose !== 'probe') turn.push(page);
  };
  const watch: Leadstream.Watcher = { request: { asyncEnd: request }, retry: ({ attempt }) => void retries.push(attempt) };
  const ran = await runPipeline(pipeline, { stateDir: join(folder, 'state'), watch: [watch, setting.watch ?? {}] }).catch(
    (error: unknown) => {
      if (!(error instanceof Error && 'code' in error)) throw error;
      return { message: error.message.replaceAll(new URL(url).host, ''), code: error.code };
    },
  );
  const told = 'message' in ran ? ran : toldBy(ran);
  const bytes = await readFile(output, 'utf8').catch(() => undefined);
  return { turns, requests, outcome: { ...told, retries, bytes } };
}

/** The pages that the first, a middle and the last request of a turn are for. */
const places = { first: 0, middle: 0, last: 0 };

beforeAll(async () => {
  // A machine that is busy makes the pages slow, and turns short.
  for (let tries = 0; tries < 10 && places.last === 0; tries += 1) {
    const { turns } = await run(list);
    const turn = turns.find(({ length }) => length >= 5) ?? [];
    [places.first = 0, , places.middle = 0] = turn;
    places.last = turn.at(-1) ?? 0;
  }
});

/** Runs with pages together and one by one. What else is requested behind an end or a failure is a matter of time if several chains read. */
async function both(answer: () => Handler, setting: Setting = {}, last = Infinity) {
  const seen = async (service = '') => {
    const { requests, outcome } = await run(answer(), { ...setting, service: (setting.service ?? '') + service });
    return {
      outcome,
      sent: requests
        .filter((url) => numberIn(url) <= last)
        .map(({ search }) => search)
        .toSorted(),
    };
  };
  return [await seen(), await seen(`, window: ${2 * (setting.concurrency ?? 1)}`)] as const;
}

async function compare(...list: Parameters<typeof both>) {
  const [together, single] = await both(...list);
  expect(together).toEqual(single);
  return together.outcome;
}

/** Answers a page of a short list with another one, or as one that is unknown. */
function insteadOf(instead: (page: number) => number | undefined): Handler {
  return (response, url, ...more) => {
    const [page, asked] = [sizeIn(url) === limit ? instead(numberIn(url)) : numberIn(url), new URL(url)];
    asked.searchParams.set('page', String(page));
    (page === undefined ? status(404) : listOf(190))(response, asked, ...more);
  };
}

/** Lists by where they end. */
const ends: Readonly<Record<string, readonly [rows: number, outcome: object, service?: string, firstPage?: number]>> = {
  'a full page': [240, { read: 240 }],
  'a short page': [237, { read: 237 }],
  'the last page of a turn': [190, { read: 190 }],
  'the page behind it': [191, { read: 191 }],
  'the first page': [10, { read: 10 }],
  max_pages: [240, { read: 240 }, ', max_pages: 24'],
  'more than max_pages in a turn': [240, { code: 'E_SOURCE_MAX_PAGES' }, ', max_pages: 16'],
  'more than max_pages behind a turn': [240, { code: 'E_SOURCE_MAX_PAGES' }, ', max_pages: 19'],
  'page 0 as its first': [237, { read: 237 }, ', first_page: 0', 0],
};

describe('pages that are read together', () => {
  test('are up to sixteen, in turns of a chain each', async () => {
    const { turns } = await run(listOf(4_000));
    expect(Math.max(...turns.map(({ length }) => length))).toBeGreaterThanOrEqual(5);
    expect(Math.max(...turns.map(({ length }) => length))).toBeLessThanOrEqual(16);
    expect([...new Set(turns.flat())]).toEqual(Array.from({ length: 401 }, (_, index) => index + 1));
    expect(places.middle).toBeGreaterThan(places.first);
  });

  test.each(Object.keys(faults))('have the outcome and the requests of single pages, with %s', async (name) => {
    const fault = faults[name];
    for (const [times, concurrency, place] of [
      ...Object.values(places).flatMap((place) => [[1, 1, place] as const, [Infinity, 1, place] as const]),
      [1, 4, places.middle] as const,
    ]) {
      let left = 0;
      const odd: Handler = (response, url, ...more) => {
        const isOdd = numberIn(url) === place && sizeIn(url) === limit && left > 0;
        if (isOdd) left -= 1;
        (isOdd && fault ? fault(place) : list)(response, url, ...more);
      };
      await compare(() => ((left = times), odd), { concurrency }, concurrency === 1 ? undefined : place);
    }
  });

  test.each([1, Infinity])('have the rows or the failure of single pages, with the page before it %d times', async (times) => {
    for (const place of Object.values(places)) {
      let left = 0;
      const answer: Handler = (response, url, ...more) => {
        const isOdd = numberIn(url) === place && sizeIn(url) === limit && left-- > 0;
        (isOdd ? send(rowsOf(place - 1)) : list)(response, url, ...more);
      };
      // How far behind it pages were requested is a matter of time, and with it what the failure says.
      const [together, single] = (await both(() => ((left = times), answer))).map(({ outcome }) => ({ ...outcome, message: undefined }));
      expect(together).toEqual(single);
    }
  });

  test.each(Object.entries(ends))('end as single pages do, with %s', async (_name, [rows, outcome, service = '', firstPage = 1]) => {
    const most = Number(/max_pages: (\d+)/.exec(service)?.[1] ?? Infinity);
    for (const concurrency of [1, 4]) {
      const last = concurrency === 1 ? undefined : Math.min(most, Math.ceil(rows / limit)) + firstPage - 1;
      expect(await compare(() => listOf(rows, firstPage), { service, concurrency }, last)).toMatchObject(outcome);
    }
  });

  test.each([
    ['repeats its last page', (page: number) => Math.min(page, 19)],
    ['does not know the page behind its last', (page: number) => (page > 19 ? undefined : page)],
  ])('end as single pages do, with a list that %s', async (_name, instead) => {
    for (const concurrency of [1, 4]) expect(await compare(() => insteadOf(instead), { concurrency }, 19)).toMatchObject({ read: 190 });
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

  test('have the events of single pages: one for each, with its status and bytes', async () => {
    const seen = async (service: string, more: Watching = {}) => {
      const events: unknown[] = [];
      const asyncEnd = ({ run: _run, url, ...event }: Requested) => void events.push({ ...event, url: new URL(url).search });
      const { requests } = await run(list, { service, watch: { request: { ...more, asyncEnd } } });
      expect(events).toHaveLength(requests.length);
      return events;
    };
    const bytes = JSON.stringify(rowsOf(17)).length;
    const page = { url: '?page=17&limit=10', collection: 'users', page: 17, purpose: 'page', attempt: 1, status: 200, bytes };
    const events = await seen('');
    expect(events).toContainEqual(page);
    expect(new Set(events)).toEqual(new Set(await seen(', window: 2')));
  });

  test('begin before they are requested, for who follows that', async () => {
    const steps: string[] = [];
    const note = (step: string) => (event: Requested) => void (event.page === 17 && event.purpose === 'page' && steps.push(step));
    const answer: Handler = (response, url, ...more) => {
      if (numberIn(url) === 17 && sizeIn(url) === limit && steps.length < 2) steps.push('requested');
      list(response, url, ...more);
    };
    await run(answer, { watch: { request: { start: note('start'), asyncEnd: note('end') } } });
    expect(steps).toEqual(['start', 'requested', 'end']);
  });

  test.each<readonly [number, readonly string[]]>([
    [1, []],
    [4, []],
    [1, ['bridges', 'users']],
    [4, ['bridges', 'users']],
  ])('are not requested while the service asks to wait, with %i at a time and the joins %j', async (concurrency, sides) => {
    const folder = await temporaryFolder();
    let [waits, late, sent] = [0, 0, 0];
    const { url } = await ownServer((response, ...request) => {
      sent += 1;
      if (waits > performance.now()) late += 1;
      if (sent !== 60 + 60 * sides.length) return listOf(1_500)(response, ...request);
      waits = performance.now() + 900;
      return response.writeHead(429, { 'retry-after': '1' }).end();
    });
    const steps = sides.map((side) => `  - join: { with: ${side}, on: { uid: ${keys[side] ?? 'uid'} }, as: ${side} }\n`);
    const text = pipelineOf(url, join(folder, 'x.csv'), { concurrency }).replace(
      'from: users\n',
      `from: leads\n${steps.length > 0 ? 'steps:\n' : ''}${steps.join('')}`,
    );
    const pipeline = await loadPipeline({ text, file: join(folder, 'x.yaml') }, { env: { KEY: 'k-of-the-test' } });
    const { read } = await runPipeline(pipeline, { stateDir: join(folder, 'state') });
    expect({ read, waited: waits > 0 }).toEqual({ read: 1500, waited: true });
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
    const begin = () => startCli(['run', 'p.yaml'], { cwd, env: { KEY: 'k-of-the-test' } });
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
