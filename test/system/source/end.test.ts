import { describe, expect, test } from '@jest/globals';
import { EventEmitter, once } from 'node:events';
import { lastValueFrom, toArray } from 'rxjs';
import { connect } from '../../../src/index.js';
import type { ConnectOptions, ConsistencyMode, LeadstreamError, MomentEvent, Warning } from '../../../src/index.js';
import { failure, type Responder } from '../../../src/service/answer.js';
import { generate } from '../../../src/service/index.js';
import type { Misbehaviour } from '../../support/misbehaviour.js';
import { leads, runIn, service, serviceOf, testKey, type LoggedService } from '../../support/services.js';
import { ownServer, type Handler } from '../../support/odd-server.js';
import { temporaryFolder } from '../../support/temporary.js';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout } from 'node:timers/promises';

const rows = 1_237;
const source = generate({ leads: rows, bridges: 5, links: 5, users: 5, seed: 3 });
const toFile = 'from: leads\nto:\n  - ndjson: { path: rows.ndjson }';
const bothJoins = `steps:
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }
  - join: { with: users, on: { lead_id: uid }, as: user, select: [email] }
`;

/** A service whose pages of leads are answered otherwise. */
async function misleading(responder: Responder, options: Partial<Misbehaviour> = {}): Promise<LoggedService> {
  const ofLeads: Responder = (facts, next) => (facts.collection === 'leads' && facts.id === null ? responder(facts, next) : next(facts));
  return service(source, { responders: [ofLeads], ...options });
}

const empty = { kind: 'rows', rows: [] } as const;

describe('the end of a list', () => {
  test('is none during an outage: the rows behind it are read', async () => {
    let answers = 0;
    // Pages from 5 on are empty until they have been asked for a few times.
    const from = await misleading((facts, next) => (facts.page >= 5 && facts.limit > 1 && (answers += 1) <= 4 ? empty : next(facts)));
    const report = await runIn(from, toFile, await temporaryFolder());
    expect(report).toMatchObject({ read: rows, consistency: { outcome: 'stable', counted: 'rows' } });
  });

  // The pages behind it were asked for meanwhile; they are compared with the pages before them, which may never be asked for.
  test.each([
    ['is empty', (page: number) => (page === 5 ? empty : undefined), 8],
    ['is empty, and another one fails', (page: number) => (page === 5 ? empty : page === 7 ? failure(400, 'no') : undefined), 8],
    ['is the one before it again', (page: number) => (page === 6 ? 5 : undefined), 8],
  ])('is looked into when a page answers late and %s', async (_what, answerTo, until) => {
    let held = false;
    const from = await misleading(async (facts, next) => {
      const answer = facts.limit === 1 ? undefined : answerTo(facts.page);
      if (answer === undefined) return next(facts);
      if (!held && answer !== 5 && answer.kind !== 'rows') return answer;
      if (!held) {
        held = true;
        await from.until((requests) => requests.includes(`leads?page=${until}&limit=100`));
        await setTimeout(100);
      }
      return answer === 5 ? next({ ...facts, page: 5 }) : answer;
    });
    await expect(runIn(from, toFile, await temporaryFolder())).rejects.toMatchObject({ code: 'E_SOURCE_ORDER' });
  });

  test('that was refused is looked for anew by the next run, which reads no page of the one before', async () => {
    let wrong = true;
    const from = await misleading((facts, next) => next(wrong && facts.page === 3 && facts.limit > 1 ? { ...facts, page: 2 } : facts));
    const [folder, stateDir] = [await temporaryFolder(), join(await temporaryFolder(), 'state')];
    await expect(runIn(from, toFile, folder, { stateDir })).rejects.toMatchObject({ code: 'E_SOURCE_ORDER' });
    wrong = false;
    expect(await runIn(from, toFile, folder, { stateDir })).toMatchObject({ read: rows, resumed: 0 });
  });

  test('is refused when there is none, with few requests', async () => {
    const from = await misleading(async (facts, next) => {
      const answer = await next({ ...facts, page: ((facts.page - 1) % 13) + 1 });
      return answer.kind === 'rows'
        ? { ...answer, rows: [...answer.rows].map((row) => row.replace('{', `{"campaign_name":"${facts.sequence}",`)) }
        : answer;
    });
    await expect(runIn(from, toFile, await temporaryFolder())).rejects.toMatchObject({ code: 'E_SOURCE_ENDLESS', exit: 69 });
    expect(from.requests.length).toBeLessThan(60);
  });

  test('costs a list that stands still at most twelve requests beyond its pages and the look ahead', async () => {
    const from = await service(source);
    const report = await runIn(from, toFile, await temporaryFolder());
    expect(report.consistency).toMatchObject({ outcome: 'stable', counted: 'rows', drift: [] });
    const pages = Math.ceil(rows / 100);
    const [ahead, pageBefore, probes, borders] = [4, 1, 8, 8];
    expect(from.requests.length + from.probes.length).toBeLessThanOrEqual(pages + ahead + pageBefore + probes + borders + 12);
  });

  // One that waits for the one before it would wait for ever.
  test.each([
    ['of its list', '', { 'page leads 14/100 2': 'probe leads 1/1', 'probe leads 15/100 1': `probe leads ${rows}/1` }],
    ['for the last row and the next', '', { [`probe leads ${rows}/1 1`]: `probe leads ${rows + 1}/1` }],
    ['of the sides of joins', bothJoins, { 'probe bridges 6/1 2': 'probe users 6/1 2' }],
  ])(
    'is confirmed by requests that do not wait for each other: %s',
    async (_which, steps, pairs: Readonly<Record<string, string>>) => {
      const arrived = new Set<string>();
      const arrivals = new EventEmitter();
      const inPairs: Responder = async ({ purpose, collection, page, limit, ...facts }, next) => {
        const name = `${purpose} ${collection} ${page}/${limit}`;
        const nth = `${name} ${arrived.has(name) ? 2 : 1}`;
        arrived.add(name).add(nth);
        arrivals.emit('request');
        const other = pairs[nth];
        while (other !== undefined && !arrived.has(other)) await once(arrivals, 'request');
        return next({ purpose, collection, page, limit, ...facts });
      };
      const from = await service(source, { responders: [inPairs] });
      const report = await runIn(from, toFile.replace('to:', `${steps}to:`), await temporaryFolder());
      expect(report.consistency).toMatchObject({ outcome: 'stable', counted: 'rows' });
    },
    30_000,
  );

  test('is looked at once more when everything is written, and what came meanwhile is read on', async () => {
    const late = JSON.parse(source.leads.row(0)) as Record<string, string>;
    let counted = 0;
    const from = await misleading(async (facts, next) => {
      // The row behind the last is there from the second time on that it is asked for.
      if (facts.limit === 1 && facts.page === rows + 1) counted += 1;
      const answer = await next(facts);
      if (counted < 2 || answer.kind !== 'rows' || facts.page * facts.limit <= rows) return answer;
      const kept = [...answer.rows];
      return (facts.page - 1) * facts.limit <= rows ? { ...answer, rows: [...kept, JSON.stringify({ ...late, lead_id: 'late' })] } : answer;
    });
    const cwd = await temporaryFolder();
    const report = await runIn(from, toFile, cwd);
    expect(report.read).toBe(rows + 1);
    expect(await readFile(join(cwd, 'rows.ndjson'), 'utf8')).toContain('"late"');
  });
});

describe('the other side of a join', () => {
  const joins = {
    users: 'with: users, on: { uid: uid }, as: user, select: [email]',
    // In one answer.
    links: 'with: links, on: { lead_id: id }, as: link, select: [uid]',
  };
  const joined = (to: string, side: keyof typeof joins = 'users') => `from: leads\nsteps:\n  - join: { ${joins[side]} }\nto:\n  - ${to}`;

  /** A side that gets a row once a window of the main list has been read, which waits for the side. */
  async function growing(side: keyof typeof joins = 'users'): Promise<LoggedService> {
    const id = side === 'users' ? 'uid' : 'id';
    let main = false;
    const answers: Responder = (facts, next) => {
      main ||= facts.collection === 'leads' && facts.page > 8;
      if (facts.collection !== side) return next(facts);
      const all = ['1', '2', ...(main ? ['3'] : [])].map((key) => JSON.stringify({ [id]: key }));
      if (side === 'links') return { kind: 'rows', rows: all };
      return { kind: 'rows', rows: all.slice((facts.page - 1) * facts.limit, facts.page * facts.limit) };
    };
    return service(source, { responders: [answers] });
  }

  test.each([
    ['users', 'repair'],
    ['users', 'off'],
    ['links', 'repair'],
    ['links', 'off'],
  ] as const)(
    'is looked at again in the end, and rows that came meanwhile are joined by a second go: %s, consistency %s',
    async (side, mode) => {
      const [from, cwd] = [await growing(side), await temporaryFolder()];
      let reads = 0;
      const watch = { read: { start: () => void (reads += 1) } };
      const report = await runIn(from, `consistency: ${mode}\n${joined('ndjson: { path: rows.ndjson }', side)}`, cwd, { watch });
      expect(reads).toBe(4);
      expect(from.requests.filter((request) => request === 'leads?page=1&limit=100')).toHaveLength(1);
      expect(report.sinks[0]?.books).toMatchObject({ read: rows, written: rows });
    },
  );

  test('is refused when rows were printed that nobody can take back', async () => {
    const options = { stdout: new PassThrough().resume() };
    await expect(runIn(await growing(), joined('stdout: {}'), await temporaryFolder(), options)).rejects.toMatchObject({
      code: 'E_GATE_CONSISTENCY',
      exit: 65,
    });
  });
});

describe('the borders between pages', () => {
  type Show = (all: readonly string[], from: number, size: number) => readonly string[];

  /** Reads a list of so many rows, ten per page, whose pages are shown by a function. */
  async function readBy(show: Show, count: number, mode: ConsistencyMode, more: Partial<ConnectOptions> = {}) {
    const all = leads(count).map((each) => JSON.stringify(each));
    const from = await misleading(({ page, limit }) => {
      const shown = page < 1 ? [] : show(all, (page - 1) * limit, limit);
      return shown === refused ? failure(400, 'no such limit') : { kind: 'rows', rows: shown };
    });
    const warnings: string[] = [];
    const watch = { warning: ({ code }: Warning) => void warnings.push(code) };
    const connection = connect({ baseUrl: from.url, auth: { rest_api_key: testKey }, limit: 10, endWaitMs: 1, watch, ...more });
    const stream = connection.leads.with({ consistency: mode });
    const read = await lastValueFrom(stream.rows$.pipe(toArray())).catch(({ code }: LeadstreamError) => code);
    await connection.close();
    const requests = from.requests.length + from.probes.length;
    return { read: typeof read === 'string' ? read : read.length, warnings, outcome: stream.consistency?.outcome, requests };
  }

  const refused: readonly string[] = [];
  const part: Show = (all, from, size) => all.slice(from, from + size);
  const only =
    (sizes: readonly number[], show: Show): Show =>
    (all, from, size) =>
      sizes.includes(size) ? show(all, from, size) : refused;

  test.each<[string, Show]>([
    ['of their own', (all, from, size) => part(all, (from / size) * 7, 7)],
    ['that is rounded up', (all, from, size) => part(all, (from / size) * Math.ceil(size / 5) * 5, Math.ceil(size / 5) * 5)],
    ['that is rounded down', (all, from, size) => part(all, (from / size) * (size - (size % 5)), size - (size % 5))],
    ['that is longer than the distance, but for theirs', (all, from, size) => part(all, from, size === 10 ? 10 : size + 3)],
    ['of a few numbers', only([10, 20, 50], part)],
  ])('tell nothing about a service with pages of a size %s', async (_what, show) => {
    for (const mode of ['check', 'repair', 'prove'] as const) {
      for (const count of [0, 1, 9, 10, 11, 19, 31, 40, 95]) {
        const { read, warnings } = await readBy(show, count, mode);
        expect({ count, mode, read, warnings: warnings.filter((code) => code !== 'W_SOURCE_CAP') }).toEqual({
          count,
          mode,
          read: count,
          warnings: [],
        });
      }
    }
  });

  test('cost at most eight requests, and none unless pages are read again', async () => {
    const requests = async (mode: ConsistencyMode) => (await readBy(part, 300, mode)).requests;
    const [off, check] = [await requests('off'), await requests('check')];
    expect(check - off).toBe(8 + 8);
    // Two passes over 300 rows, by pages of seven and five rows.
    expect((await requests('prove')) - off).toBeLessThan(43 + 60 + 2 * 12);
  });
});

test('a list that holds rows twice stands still, and a pass settles it', async () => {
  const twice = [...leads(250), ...leads(20)];
  const report = await runIn(await serviceOf({ leads: twice }), toFile, await temporaryFolder());
  expect(report.consistency).toMatchObject({ outcome: 'stable', duplicates: 20, passes: 1, repaired: 0 });
  expect(report.sinks[0]?.books).toMatchObject({ read: 270, written: 250, duplicates: 20 });
});

describe('connect', () => {
  async function collect(options: Partial<ConnectOptions>, from: LoggedService) {
    const warnings: Warning[] = [];
    const connection = connect({
      baseUrl: from.url,
      auth: { rest_api_key: testKey },
      limit: 20,
      endWaitMs: 1,
      watch: { warning: (warning) => void warnings.push(warning) },
      ...options,
    });
    try {
      const read = await lastValueFrom(connection.leads.rows$.pipe(toArray())).catch((error: unknown) => error);
      return { read, warnings, found: connection.leads.consistency };
    } finally {
      await connection.close();
    }
  }

  test('warns of a list that drifted, and tells what was found out', async () => {
    const { read, warnings, found } = await collect(
      { consistency: 'check' },
      await service(source, { drift: { every: 3, changes: ['delete'] } }),
    );
    expect(Array.isArray(read)).toBe(true);
    expect(warnings.map(({ code }) => code)).toEqual(['W_SOURCE_DRIFT']);
    expect(found).toMatchObject({ outcome: 'drifted' });
  });

  // Without a spool, a page that came back is asked for once more.
  test('fails when a page is sometimes full and sometimes empty, for ever', async () => {
    let asked = 0;
    const from = await misleading((facts, next) => (facts.page === 5 && facts.limit > 1 && (asked += 1) % 2 === 1 ? empty : next(facts)));
    const { read } = await collect({ limit: 100, concurrency: 1 }, from);
    expect(read).toMatchObject({ code: 'E_SOURCE_ORDER', message: 'leads: page 5 is sometimes full and sometimes empty' });
    expect(from.requests.length).toBeLessThan(60);
  });

  test('fails on a list that no pass made sure of, unless that is allowed', async () => {
    const hopeless = { consistency: 'prove', maxPasses: 1 } as const;
    const { read } = await collect(hopeless, await service(source, { quirks: { 'unstable-order': 50 } }));
    expect(read).toMatchObject({ code: 'E_GATE_CONSISTENCY' });
    const allowed = await collect({ ...hopeless, allowUnstable: true }, await service(source, { quirks: { 'unstable-order': 50 } }));
    expect(Array.isArray(allowed.read)).toBe(true);
    expect(allowed.found).toMatchObject({ outcome: 'unstable' });
  });
});

test.each([
  ['the row behind the end', (page: number, size: number) => size === 1 && page >= 1],
  ['the page before the first', (page: number) => page === 0],
])('a program that reads no further ends the request for %s', async (_what, hangs) => {
  const all = Array.from({ length: 60 }, (_, index) => ({ uid: String(1_000 + index), email: '', affid: '' }));
  let begun: (() => void) | undefined;
  const asked = new Promise<void>((done) => (begun = done));
  let closed: Promise<unknown> | undefined;
  const pages: Handler = (response, { searchParams }) => {
    const [number, size] = [Number(searchParams.get('page')), Number(searchParams.get('limit'))];
    if (hangs(number, size)) {
      closed = once(response, 'close');
      begun?.();
      return;
    }
    // The last page comes again behind the end.
    const page = Math.min(number, Math.ceil(all.length / size));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(number < 1 ? [] : all.slice((page - 1) * size, page * size)));
  };
  const { url, aborted } = await ownServer(pages);
  const connection = connect({ baseUrl: url, auth: { rest_api_key: testKey }, limit: 20, concurrency: 1, endWaitMs: 1, threads: 0 });
  const reading = connection.users.rows$.subscribe();
  await asked;
  reading.unsubscribe();
  await closed;
  expect(aborted()).toBeGreaterThan(0);
  await connection.close();
});

describe('an empty list', () => {
  test.each(['users', 'links'])('tells that its end is looked at again, and who reads it: %s', async (name) => {
    const from = await serviceOf({ leads: leads(3) });
    const waits: unknown[] = [];
    const watch = { wait: ({ collection, at, read, delayMs }: MomentEvent<'wait'>) => void waits.push({ collection, at, read, delayMs }) };
    const to = 'to:\n  - ndjson: { path: rows.ndjson }';
    const alone = await runIn(from, `from: ${name}\n${to}`, await temporaryFolder(), { watch });
    expect(alone.consistency.waitedMs).toBe(1);
    const key = name === 'users' ? 'uid' : 'id';
    const joined = `  - join: { with: ${name}, on: { lead_id: ${key} }, as: other }\n`;
    await runIn(from, `from: leads\nsteps:\n${joined}${to}`, await temporaryFolder(), { watch });
    const wait = { collection: name, read: 0, delayMs: 1 };
    expect(waits).toEqual([
      { ...wait, at: undefined },
      { ...wait, at: 'steps[0] join' },
    ]);
  });
});

describe('links, which come in one answer', () => {
  const all = Array.from({ length: 300 }, (_, index) => JSON.stringify({ id: String(1_000 + index) }));
  const page = (number: number, size: number) => all.slice((number - 1) * size, number * size);

  test.each([
    ['in pages of 30', page],
    ['in pages of 30, of which the second is empty once', (number, size, request) => (request === 2 ? [] : page(number, size))],
    [
      'in pages of 30, in front of which a row comes',
      (number, size, request) => (request === 2 ? [all[29] ?? '', ...page(number, size)] : page(number, size)),
    ],
    ['in pages of at most 15', (number, size, request) => (request === 1 ? page(1, 30) : page(number, Math.min(15, size)))],
    ['in one answer', () => all],
  ] as readonly [string, (number: number, size: number, request: number) => readonly string[]][])(
    'are read whole %s',
    async (_what, answers) => {
      let requests = 0;
      const ofLinks: Responder = (facts, next) =>
        facts.collection === 'links' ? { kind: 'rows', rows: answers(facts.page, facts.limit, (requests += 1)) } : next(facts);
      const from = await service(source, { responders: [ofLinks] });
      const report = await runIn(from, 'from: links\nto:\n  - ndjson: { path: rows.ndjson }', await temporaryFolder());
      expect(report.read).toBe(300);
    },
  );
});
