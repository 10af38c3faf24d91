import { chmod, lstat, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { leads } from '../../../src/collections/leads.js';
import { version } from '../../../src/core/index.js';
import { cli } from '../../support/cli.js';
import { pipelineText, service, serviceOf, testKey } from '../../support/services.js';
import { visible } from '../../support/temporary.js';
import { toCsv, workplace } from './support.js';

const joined = `from: leads
steps:
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }
to:
  - csv: { path: out/leads.csv }
`;

const run = (report: string) => ['run', 'p.yaml', '--report', report, '--set', 'service.retry.base=1ms'];

async function textIn(cwd: string, file: string): Promise<string> {
  return readFile(join(cwd, file), 'utf8');
}

describe('a report as JSON', () => {
  test('has requests, retries by kind, stages, joins, gates, columns, service and version, and the books of the run', async () => {
    const from = await service(undefined, { faults: ['503@collection=leads,purpose=page,page=2-3,times=1'] });
    const cwd = await workplace(joined);
    expect((await cli(run('r.json'), { cwd, env: from.env })).code).toBe(0);
    const report = JSON.parse(await textIn(cwd, 'r.json'));
    expect(report).toMatchObject({
      status: 'published',
      exit: 0,
      version,
      service: { baseUrl: from.url, limit: 100 },
      read: 1_200,
      sinks: [{ books: { read: 1_200, written: 1_200 } }],
      requests: {
        total: from.requests.length + from.probes.length,
        probes: from.probes.length,
        retries: [{ code: 'E_SOURCE_UNAVAILABLE', status: 503, count: 2 }],
      },
      joins: [{ at: 'steps[0] join', matched: 1_200, missed: 0, rate: 1 }],
      profile: { rows: 1_200 },
    });
    expect(report.stages.map(({ stage }: { stage: string }) => stage)).toEqual(
      expect.arrayContaining(['reading leads', 'reading bridges for steps[0] join', 'finishing to[0] csv', 'publishing']),
    );
    const rows = report.timeline.intervals.reduce((sum: number, interval: { rows: number }) => sum + interval.rows, 0);
    expect(rows).toBe(1_200);
    const { latency, slowest } = report.requests;
    expect(slowest).toHaveLength(5);
    expect(slowest[0]).toEqual({
      url: expect.stringContaining(`${from.url}/api/`),
      attempt: expect.any(Number),
      status: expect.any(Number),
      ms: expect.any(Number),
    });
    expect(Math.abs(slowest[0].ms - latency.max)).toBeLessThanOrEqual(1);
    expect(JSON.stringify(report)).not.toContain(testKey);
  });

  test('has of a run that a gate refused what one that published has, and why it failed', async () => {
    const [from, cwd] = [await service(), await workplace(`${joined}expect: { min_rows: 5000 }`)];
    expect((await cli(run('r.json'), { cwd, env: from.env })).code).toBe(65);
    const report = JSON.parse(await textIn(cwd, 'r.json'));
    expect(report).toMatchObject({
      status: 'failed',
      exit: 65,
      error: { code: 'E_GATE_EXPECT', help: expect.any(String) },
      runId: expect.any(String),
      read: 1_200,
      keptPages: 0,
      requests: { total: from.requests.length + from.probes.length },
    });
    expect(report.gates.filter(({ outcome }: { outcome: string }) => outcome === 'refused')).toMatchObject([{ gate: 'expect.min_rows' }]);
  });

  test('has of a run that was refused its credentials when it ran and what it asked for', async () => {
    const [from, cwd] = [await service(), await workplace(joined)];
    expect((await cli(run('r.json'), { cwd, env: { ...from.env, LEADSTREAM_REST_API_KEY: 'wrong-key' } })).code).toBe(77);
    expect(JSON.parse(await textIn(cwd, 'r.json'))).toMatchObject({ status: 'failed', exit: 77, runId: expect.any(String), read: 0 });
  });
});

describe.each([
  ['Markdown', 'r.md'],
  ['a page', 'r.html'],
])('a report as %s', (_, file) => {
  test('takes the place of an earlier report of any format', async () => {
    const [from, cwd] = [await service(), await workplace(joined)];
    for (let time = 0; time < 2; time += 1) expect((await cli(run(file), { cwd, env: from.env })).code).toBe(0);
    expect(await textIn(cwd, file)).toContain('1,200 leads in 12 pages');
  });

  test('escapes what comes from the service, and shows nothing personal', async () => {
    const odd = '<img src=x onerror=alert(1)>|`*_';
    const users = Array.from({ length: 3 }, (_each, index) => ({
      uid: String(index),
      affid: odd,
      email: 'person@example.com',
      [odd]: 'x',
    }));
    const [from, cwd] = [await serviceOf({ users }), await workplace(toCsv.replace('leads', 'users'))];
    expect((await cli(run(file), { cwd, env: from.env })).code).toBe(0);
    const text = await textIn(cwd, file);
    expect(text).not.toContain('<img');
    if (file === 'r.md') expect(text).not.toContain('|`*_');
    expect(text).not.toContain('person@example.com');
    expect(text).toContain('&lt;img src=x');
  });

  test('tells of several pipelines, also of those that were not run', async () => {
    const [from, cwd] = [await service(), await workplace(joined)];
    await writeFile(join(cwd, 'q.yaml'), pipelineText(toCsv.replace('leads.csv', 'q.csv')).replace('name: test', 'name: other'));
    const env = { ...from.env, LEADSTREAM_REST_API_KEY: 'wrong-key' };
    expect((await cli(['run', 'p.yaml', 'q.yaml', '--report', file], { cwd, env })).code).toBe(77);
    const text = await textIn(cwd, file);
    expect(text).toMatch(/Failed: E(?:\\)?_SOURCE(?:\\)?_AUTH \(exit 77\)/);
    expect(text).toContain('Not run');
  });
});

test('one run writes several reports, each in the format of its name, and not two into one file', async () => {
  const [from, cwd] = [await service(), await workplace(joined)];
  const asked = ['run', 'p.yaml', '--report', 'r.json', '--report', 'r.html', '--report'];
  expect(await cli([...asked, './r.json'], { cwd, env: from.env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--report and --report name the same file'),
  });
  await writeFile(join(cwd, 'notes.md'), 'mine');
  await writeFile(join(cwd, 'r.html'), '<!-- leadstream report -->of yesterday');
  expect(await cli([...asked, 'notes.md'], { cwd, env: from.env })).toMatchObject({ code: 2 });
  expect([await textIn(cwd, 'notes.md'), await textIn(cwd, 'r.html')]).toEqual(['mine', '<!-- leadstream report -->of yesterday']);
  expect(await visible(cwd)).toEqual(['notes.md', 'p.yaml', 'r.html']);
  expect(from.requests).toEqual([]);
  expect((await cli([...asked, 'r.md'], { cwd, env: from.env })).code).toBe(0);
  const beginnings = await Promise.all(['r.json', 'r.html', 'r.md'].map(async (file) => (await textIn(cwd, file)).slice(0, 15)));
  expect(beginnings).toEqual([expect.stringContaining('"status"'), '<!doctype html>', '<!-- leadstream']);
});

test('a report is put in place as a whole, with the permissions that it had; what is a link stays one', async () => {
  const [from, cwd] = [await service(), await workplace(toCsv)];
  const done = async (file: string) => (await cli(run(file), { cwd, env: from.env })).code;
  expect(await done('r.json')).toBe(0);
  await chmod(join(cwd, 'r.json'), 0o640);
  const before = await stat(join(cwd, 'r.json'));
  expect(await done('r.json')).toBe(0);
  const after = await stat(join(cwd, 'r.json'));
  expect(after.ino).not.toBe(before.ino);
  expect(after.mode & 0o777).toBe(0o640);
  await symlink('r.json', join(cwd, 'link.json'));
  expect(await done('link.json')).toBe(0);
  expect((await lstat(join(cwd, 'link.json'))).isSymbolicLink()).toBe(true);
  expect((await stat(join(cwd, 'r.json'))).ino).toBe(after.ino);
  expect(JSON.parse(await textIn(cwd, 'link.json'))).toMatchObject({ status: 'published' });
});

test.each(['r.json', 'r.md', 'r.html'])('%s and the log hold no text of rows: any field that is text may name a person', async (file) => {
  const address = 'jane@example.com';
  const plain = Object.entries(leads.fields).filter(([, { sensitivity }]) => sensitivity === 'plain');
  const texts = plain.map(([name, { original = name }]: [string, { readonly original?: string }]) => [original, `/?email=${address}`]);
  const rows = Array.from({ length: 4 }, (_each, index) => ({ ...Object.fromEntries(texts), lead_id: String(index) }));
  const from = await serviceOf({ leads: rows });
  const cwd = await workplace(`${toCsv}\nexpect: { accepted_values: { referer: [direct] } }`);
  const { code, stderr } = await cli([...run(file), '--log-format', 'json'], { cwd, env: from.env });
  expect(code).toBe(65);
  expect(stderr).not.toContain(address);
  expect(await textIn(cwd, file)).not.toContain(address);
  await writeFile(join(cwd, 'p.yaml'), pipelineText(toCsv));
  const published = await cli([...run(file), '--log-format', 'json'], { cwd, env: from.env });
  expect(published.code).toBe(0);
  expect(published.stderr).toContain('run.finished');
  expect(published.stderr).not.toContain(address);
  expect(published.stderr).not.toContain('"profile"');
  const text = await textIn(cwd, file);
  expect(text).toContain('referer');
  expect(text).not.toContain(address);
});

test('the page has pictures, no script and a policy against it', async () => {
  const [from, cwd] = [await service(), await workplace(joined)];
  expect((await cli(run('r.html'), { cwd, env: from.env })).code).toBe(0);
  const page = await textIn(cwd, 'r.html');
  expect(page.match(/<svg /g)).toHaveLength(6);
  expect(page).not.toContain('<script');
  expect(page).toContain(`content="default-src 'none';`);
  expect(page).not.toContain('#0a0b0');
});
