import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { summaryOf } from '../../../src/run/index.js';
import { duckdb } from '../../support/duckdb.js';
import { leads, runIn, service, serviceOf, type LoggedService } from '../../support/services.js';
import { generate } from '../../../src/service/index.js';
import { ownEnv, ownServer, send } from '../../support/odd-server.js';
import { temporaryFolder } from '../../support/temporary.js';

const bridges = Array.from({ length: 300 }, (_, n) => ({ id: `b/${n} ü`, title: `title ${n}`, niche: `niche ${n % 3}` }));
const joined = (more = '', config = 'with: bridges, on: { bridge_id: id }, as: b, select: [title, niche]') =>
  `from: leads\nsteps:\n  - join: { ${config}, lookup: by_id${more} }\nto:\n  - csv: { path: c.csv }\n`;
const found = ({ requests }: LoggedService) => requests.filter((url) => !url.includes('?'));

describe('lookup: by_id', () => {
  test('gives what preload gives, byte for byte, by a request for each id and no list', async () => {
    const [from, folder] = [await service(generate({ leads: 1_200, bridges: 60, seed: 7 })), await temporaryFolder()];
    const report = await runIn(from, joined(), folder);
    const asked = found(from);
    expect(new Set(asked).size).toBe(asked.length);
    expect(from.requests.some((url) => url.startsWith('bridges?'))).toBe(false);
    const byId = await readFile(join(folder, 'c.csv'), 'utf8');
    const preloaded = await runIn(from, joined().replace('by_id', 'preload'), folder);
    expect(await readFile(join(folder, 'c.csv'), 'utf8')).toBe(byId);
    expect(preloaded.lookups).toEqual([]);
    const [tally] = report.steps.map(({ tally }) => tally);
    expect(tally).toEqual(preloaded.steps[0]?.tally);
    expect(report.sides).toEqual([]);
    expect(report.lookups).toMatchObject([{ at: 'steps[0] join', collection: 'bridges', requests: asked.length, checked: false }]);
    const [{ requests, hits } = { requests: 0, hits: 0 }] = report.lookups;
    const [{ n } = {}] = await duckdb(`select count(nullif(bridge_id, ''))::int as n from read_csv('${folder}/c.csv', all_varchar = true)`);
    expect(requests + hits).toBe(n);
    expect(summaryOf(report)).toContain('steps[0] join: bridges by id, not checked for changes: ');
  });

  test('joins rows without a record as rows without a match, and asks for an id once', async () => {
    const ids = ['b/1 ü', 'none', '', '..', 'b/1 ü', 'none', 'B/1 ü', 'b/299 ü'];
    const from = await serviceOf({ leads: leads(ids.length, (n) => ({ bridge_id: ids[n] })), bridges });
    const folder = await temporaryFolder();
    const report = await runIn(from, joined(), folder);
    expect(await duckdb(`select b_title from read_csv('${folder}/c.csv', header = true) order by lead_id::int`)).toEqual(
      ['title 1', null, null, null, 'title 1', null, null, 'title 299'].map((b_title) => ({ b_title })),
    );
    expect(report.steps[0]?.tally).toMatchObject({ matched: 3, missed: 5 });
    expect(report.lookups[0]).toMatchObject({ requests: 4, hits: 2, misses: 2 });
    expect(found(from)).toHaveLength(4);
  });

  test.each([
    ['reject', { rejected: 2 }, ['title 1', null, 'title 299']],
    ['null', { nulled: 2 }, ['title 1', null, null, null, 'title 299']],
    ['fail', undefined, []],
  ])('takes an identifier that the service refuses for a fault of its row: on_error: %s', async (onError, tally, titles) => {
    const rows = leads(5, (n) => ({ bridge_id: ['b/1 ü', 'odd', 'none', 'long', 'b/299 ü'][n] }));
    const server = await ownServer((response, { pathname, searchParams }) => {
      const [, , collection, id] = pathname.split('/').map(decodeURIComponent);
      const limit = Number(searchParams.get('limit'));
      const from = (Number(searchParams.get('page')) - 1) * limit;
      if (collection === 'leads') return send(response, rows.slice(from, from + limit));
      const found = bridges.filter((bridge) => bridge.id === id);
      send(response, found, {}, id === 'odd' ? 400 : id === 'long' ? 414 : 200);
    });
    const from = { env: ownEnv(server, '') };
    const folder = await temporaryFolder();
    const run = runIn(from, `on_error: ${onError}\nrejects: { max: 50% }\n${joined()}`, folder);
    if (tally === undefined) {
      const message = 'steps[0] join: field bridge_id is an identifier that the service refuses (HTTP 400) in the row with lead_id';
      return expect(run).rejects.toMatchObject({ code: 'E_STEP_VALUE', message: `${message} '1' (row 2 of page 1)` });
    }
    expect((await run).steps[0]?.tally).toMatchObject(tally);
    const written = await duckdb(`select b_title from read_csv('${folder}/c.csv', header = true) order by lead_id::int`);
    expect(written.map(({ b_title }) => b_title)).toEqual(titles);
    if (onError !== 'reject') return;
    expect(await readFile(join(folder, 'c.csv.rejects.ndjson'), 'utf8')).toMatch(/"1"[^]*HTTP 400[^]*"3"[^]*HTTP 414/);
  });

  test('takes of several records what pick says, and fails without it', async () => {
    const areacodes = ['A', 'B', 'C'].map((city, n) => ({ area_code: '212', city, state: 'NY', city_population: String(10 ** n) }));
    const from = await serviceOf({ leads: leads(2, () => ({ zipcode: '212' })), areacodes });
    const config = 'with: areacodes, on: { zipcode: area_code }, as: area, select: [city]';
    const cities = async (pick: string) => {
      const folder = await temporaryFolder();
      await runIn(from, joined(pick, config), folder);
      return (await duckdb(`select area_city from read_csv('${folder}/c.csv', header = true)`)).map(({ area_city }) => area_city);
    };
    expect(await cities(', pick: first')).toEqual(['A', 'A']);
    expect(await cities(', pick: { max: city_population }')).toEqual(['C', 'C']);
    expect(await cities(', pick: all')).toEqual(['A', 'B', 'C', 'A', 'B', 'C']);
    await expect(cities('')).rejects.toThrow('steps[0] join: 3 rows match on area_code for ');
  });

  test('keeps the order of rows and the bounds of requests over answers that take any time, fail and come late', async () => {
    const source = generate({ leads: 700, bridges: 150, seed: 3 });
    let underWay = 0;
    let most = 0;
    const from = await service(source, { faults: ['503@rate=0.1', 'delay=3'] });
    const folder = await temporaryFolder();
    const watch = { request: { start: () => void (most = Math.max(most, (underWay += 1))), asyncEnd: () => void (underWay -= 1) } };
    const report = await runIn(from, joined(), folder, { watch, set: { 'service.concurrency': '3' } });
    expect(report.read).toBe(700);
    expect(most).toBeLessThanOrEqual(3);
    const plain = await temporaryFolder();
    await runIn(await service(source), joined().replace('by_id', 'preload'), plain);
    expect(await readFile(join(folder, 'c.csv'), 'utf8')).toBe(await readFile(join(plain, 'c.csv'), 'utf8'));
  });

  test('asks for no records that a limit makes superfluous, and does not fail with them', async () => {
    const rows = leads(600, (n) => ({ bridge_id: `b${n}` }));
    const titled = rows.map((_, n) => ({ id: `b${n}`, title: 'T' }));
    const from = await serviceOf({ leads: rows, bridges: titled });
    const folder = await temporaryFolder();
    const report = await runIn(from, joined().replace('to:', '  - limit: 5\nto:'), folder, { set: { 'service.limit': '50' } });
    expect(report.sinks[0]?.books).toMatchObject({ written: 5, beyondLimit: (report.read ?? 0) - 5 });
    // Those of the first page, and of the one that is looked up beside it.
    expect(from.requests.filter((url) => url.startsWith('bridges/')).length).toBeLessThanOrEqual(100);
    const after = await runIn(from, `${joined().replace('steps:\n', 'steps:\n  - limit: 5\n')}`, await temporaryFolder());
    expect(after.sinks[0]?.books.written).toBe(5);
  });

  test('withholds secrets that are not revealed, and adds those that are', async () => {
    const from = await serviceOf({ leads: leads(1, () => ({ bridge_id: '1' })), bridges: [{ id: '1', title: 't', CRM_KEY: 'hidden' }] });
    const folder = await temporaryFolder();
    await runIn(from, joined('', 'with: bridges, on: { bridge_id: id }, as: b'), folder);
    expect(await readFile(join(folder, 'c.csv'), 'utf8')).not.toContain('hidden');
    await runIn(from, joined(', reveal: [crm_key]', 'with: bridges, on: { bridge_id: id }, as: b, select: [crm_key]'), folder);
    expect(await readFile(join(folder, 'c.csv'), 'utf8')).toContain('hidden');
  });
});
