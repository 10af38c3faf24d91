import { existsSync, rmSync } from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Watcher } from '../../../src/index.js';
import { lead as plainLead, runIn as run, service, serviceOf, testKey } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

/** A lead that has what the joins and casts below look at. */
const lead = (id: number, more: Record<string, unknown> = {}) =>
  plainLead(id, { bridge_id: '1', age: '40', timestamp: '1700000000', ...more });
const lines = async (...path: string[]) => (await readFile(join(...path), 'utf8')).trim().split('\n');
const objects = async (...path: string[]) =>
  (await lines(...path)).filter(Boolean).map((line): Record<string, unknown> => JSON.parse(line));

describe('a run', () => {
  test('under spool: off publishes without writing a page to the state folder', async () => {
    const [from, folder] = [await service(), await temporaryFolder()];
    const stateDir = join(folder, 'state');
    const spooled: boolean[] = [];
    const report = await run(from, 'from: leads\nspool: off\nto:\n  - ndjson: { path: leads.ndjson }', folder, {
      stateDir,
      watch: { page: () => void spooled.push(existsSync(join(stateDir, 'spool'))) },
    });
    expect(spooled).toEqual(Array.from({ length: report.pages }, () => false));
    expect(report).toMatchObject({ read: 1_200, resumed: 0 });
    expect(await lines(folder, 'leads.ndjson')).toHaveLength(1_200);
    expect(existsSync(join(stateDir, 'spool'))).toBe(false);
  });

  test('under spool: off removes pages that an earlier run left too long', async () => {
    const [from, folder] = [await service(), await temporaryFolder()];
    const stateDir = join(folder, 'state');
    const stop = new AbortController();
    const spool = (value: string) => `from: leads\nspool: ${value}\nto:\n  - csv: { path: leads.csv }`;
    const stopped = run(from, spool('{ max_age: 1ms }'), folder, { stateDir, signal: stop.signal, watch: { page: () => stop.abort() } });
    await expect(stopped).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    const kept = async () => (await readdir(join(stateDir, 'spool'))).filter((name) => name.startsWith('leads-'));
    expect(await kept()).not.toEqual([]);
    await run(from, spool('off'), folder, { stateDir });
    expect((await kept()).filter((name) => !name.includes('.'))).toEqual([]);
  });

  test('reads the other sides of joins to their ends while one window of the main side is on its way', async () => {
    const [from, folder] = [await service(), await temporaryFolder()];
    const steps =
      'steps:\n  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }\n  - join: { with: users, on: { uid: uid }, as: user, select: [affid] }';
    await run(from, `from: leads\n${steps}\nto:\n  - csv: { path: leads.csv }`, folder);
    const collections = from.requests.map((request) => request.split('?')[0]);
    const sides = Math.max(collections.lastIndexOf('bridges'), collections.lastIndexOf('users'));
    const pages = new Set(from.requests.slice(0, sides).filter((request) => /^leads\?page=[1-9]\d*&limit=100$/.test(request)));
    expect(pages.size).toBeGreaterThan(0);
    expect(pages.size).toBeLessThanOrEqual(8);
  });

  test('writes an empty collection as an output without rows', async () => {
    const [from, folder] = [await serviceOf({ users: [] }), await temporaryFolder()];
    await run(from, 'from: users\nto:\n  - csv: { path: users.csv }', folder);
    expect(await readFile(join(folder, 'users.csv'), 'utf8')).toBe('uid,email,affid\n');
  });

  test('withholds credential-like fields unless they are revealed', async () => {
    const bridge = { id: '1', title: 'A', CRM_KEY: 'crm-secret', surprise_token: 'odd-secret' };
    const folder = await temporaryFolder();
    const from = await serviceOf({ bridges: [bridge] });
    await run(from, 'from: bridges\nto:\n  - csv: { path: plain.csv }', folder);
    await run(from, 'from: bridges\nreveal: [crm_key]\nto:\n  - csv: { path: revealed.csv }', folder);
    expect(await readFile(join(folder, 'plain.csv'), 'utf8')).not.toMatch(/secret|CRM_KEY|token/);
    expect(await readFile(join(folder, 'revealed.csv'), 'utf8')).toMatch(/CRM_KEY[\s\S]*crm-secret/);
    expect(await readFile(join(folder, 'revealed.csv'), 'utf8')).not.toContain('odd-secret');
  });
});

describe('rejected rows', () => {
  const rows = [...Array.from({ length: 199 }, (_, index) => lead(index)), lead(500, { age: 'forty-two', email: 'a.person@example.org' })];

  test('are counted and written with key, place, field and reason, and without a value', async () => {
    const [from, folder] = [await serviceOf({ leads: rows }), await temporaryFolder()];
    const report = await run(from, 'from: leads\nto:\n  - parquet: { path: leads }', folder);
    expect(report.sinks[0]?.books).toMatchObject({ read: 200, written: 199, rejected: 1 });
    expect(await objects(folder, 'leads.rejects.ndjson')).toEqual([
      { at: 'to[0] parquet', key: { lead_id: '500' }, field: 'age', reason: 'is not a 64-bit integer' },
    ]);
  });

  test('are written with the row itself when asked', async () => {
    const [from, folder] = [await serviceOf({ leads: rows }), await temporaryFolder()];
    await run(from, 'from: leads\nto:\n  - parquet: { path: leads }\nrejects: { rows: true, path: bad/rows.ndjson }', folder);
    expect((await objects(folder, 'bad', 'rows.ndjson'))[0]).toMatchObject({ row: { age: 'forty-two', email: 'a.person@example.org' } });
  });

  test('beyond the gate keep everything unpublished, but their file is there', async () => {
    const [from, folder] = [await serviceOf({ leads: rows }), await temporaryFolder()];
    const refused = run(from, 'from: leads\nto:\n  - parquet: { path: leads }\nrejects: { max: 0.4% }', folder);
    await expect(refused).rejects.toMatchObject({ code: 'E_GATE_REJECTS', exit: 65, message: expect.stringContaining('1 of 200 rows') });
    expect(await readdir(folder)).toEqual(['leads.rejects.ndjson']);
  });

  test('of steps and of sinks balance the books of each sink by itself', async () => {
    const broken = [...rows.slice(0, 198), lead(300, { timestamp: 'soon' }), lead(301, { age: 'x' })];
    const [from, folder] = [await serviceOf({ leads: broken }), await temporaryFolder()];
    const steps = 'steps:\n  - derive: { at: epoch(timestamp) }';
    const report = await run(from, `from: leads\n${steps}\nto:\n  - parquet: { path: l }\n  - csv: { path: l.csv }`, folder);
    expect(report.sinks.map(({ books }) => [books.written, books.rejected])).toEqual([
      [198, 2],
      [199, 1],
    ]);
  });
});

describe('a run that fails', () => {
  const sinks = 'to:\n  - parquet: { path: lake/leads }\n  - csv: { path: lake/leads.csv }';

  test('leaves what was published before as it was', async () => {
    const [from, folder] = [await service(), await temporaryFolder()];
    await run(from, `from: leads\n${sinks}`, folder);
    const before = await readFile(join(folder, 'lake', 'leads.csv'));
    const names = await readdir(join(folder, 'lake'));
    await from.close();
    const failing = run(from, `from: leads\n${sinks}`, folder);
    await expect(failing).rejects.toMatchObject({ code: 'E_SOURCE_UNAVAILABLE', exit: 69 });
    expect(await readFile(join(folder, 'lake', 'leads.csv'))).toEqual(before);
    expect(await readdir(join(folder, 'lake'))).toEqual(names);
  });

  test('fails before the first request when an output cannot be written', async () => {
    const [from, folder] = [await service(), await temporaryFolder()];
    await writeFile(join(folder, 'file'), '');
    const failing = run(from, 'from: leads\nto:\n  - csv: { path: ok.csv }\n  - parquet: { path: file/leads }', folder);
    await expect(failing).rejects.toMatchObject({ code: 'E_SINK_PATH', exit: 1 });
    expect(from.requests).toEqual([]);
    expect(await readdir(folder)).toEqual(['file']);
  });

  test('publishes nothing after its signal, and makes no more requests', async () => {
    const [from, folder] = [await service(), await temporaryFolder()];
    const stop = new AbortController();
    const failing = run(from, 'from: leads\nto:\n  - csv: { path: leads.csv }', folder, {
      signal: stop.signal,
      watch: { page: ({ pages }) => pages >= 2 && stop.abort() },
    });
    await expect(failing).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    expect(await readdir(folder)).toEqual([]);
    // What the run had asked is answered before what is asked now, and it would ask for the next page while this is answered.
    const ours = () => fetch(`${from.url}/api/users?limit=1&rest_api_key=${encodeURIComponent(testKey)}`);
    await ours();
    const asked = from.requests.length;
    for (let round = 1; round <= 5; round += 1) await ours();
    expect(from.requests.slice(asked)).toEqual(Array(5).fill('users?page=1&limit=1'));
  });

  test('reports its own failure, not that of keeping its rejects', async () => {
    const [from, folder] = [await serviceOf({ leads: [lead(1), lead(2, { age: 'old' })] }), await temporaryFolder()];
    const warnings: string[] = [];
    const body = `from: leads
rejects: { path: rejects/r.ndjson, max: 1 }
expect: { min_rows: 3 }
steps:
  - cast: { types: { age: integer } }
to:
  - csv: { path: leads.csv }`;
    const watch: Watcher = {
      finish: { asyncEnd: () => rmSync(join(folder, 'rejects'), { recursive: true }) },
      warning: ({ message }) => void warnings.push(message),
    };
    await expect(run(from, body, folder, { watch })).rejects.toMatchObject({ code: 'E_GATE_EXPECT' });
    expect(warnings).toContainEqual(expect.stringMatching(/^the rejects of this run were not kept: cannot commit .*r\.ndjson/));
  });

  test.each<[string, (stop: () => void) => Watcher]>([
    ['before outputs are closed', (stop) => ({ finish: { start: stop } })],
    ['when outputs are ready', (stop) => ({ finish: { asyncEnd: stop } })],
    ['while gates are evaluated', (stop) => ({ warning: stop })],
  ])('publishes nothing after a signal that comes behind the last row, %s', async (_what, watcher) => {
    const [from, folder] = [await serviceOf({ users: [{ uid: '1' }] }), await temporaryFolder()];
    const stop = new AbortController();
    const options = { signal: stop.signal, watch: watcher(() => stop.abort()) };
    const body = 'from: users\nto:\n  - csv: { path: users.csv }\n  - parquet: { path: lake/users }';
    await expect(run(from, body, folder, options)).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    expect(await readdir(folder)).toEqual([]);
  });
});

test('one-to-many and inner joins balance the books', async () => {
  const from = await serviceOf({
    leads: [lead(1), lead(2, { bridge_id: '2' }), lead(3, { bridge_id: '' })],
    links: [
      { id: '1', bridge_id: '1' },
      { id: '2', bridge_id: '1' },
      { id: '3', bridge_id: '1' },
    ],
  });
  const folder = await temporaryFolder();
  const steps = 'steps:\n  - join: { with: links, on: { bridge_id: bridge_id }, as: link, select: [id], pick: all, type: inner }';
  const report = await run(from, `from: leads\n${steps}\nto:\n  - ndjson: { path: l.ndjson }`, folder);
  expect(report.sinks[0]?.books).toMatchObject({ read: 3, expanded: 2, written: 3, unmatched: 2 });
  expect((await objects(folder, 'l.ndjson')).map(({ link_id }) => link_id)).toEqual(['1', '2', '3']);
});
