import { once } from 'node:events';
import { execFileSync } from 'node:child_process';
import { chmod, lstat, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { collections } from '../../../src/collections/index.js';
import { version } from '../../../src/core/index.js';
import { cli, startCli } from '../../support/cli.js';
import { pipelineText, service, serviceOf, testKey, toCsv, toStdout, workplace } from '../../support/services.js';
import { filesBelow, folderWith, visible } from '../../support/temporary.js';

const joined = `from: leads
steps:
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }
to:
  - csv: { path: out/leads.csv }
`;
const run = (report: string) => ['run', 'p.yaml', '--report', report, '--set', 'service.retry.base=1ms'];
const textIn = (cwd: string, file = 'r.json') => readFile(join(cwd, file), 'utf8');

describe('a report as JSON', () => {
  test('has the report of the run, its requests and stages, the service and the version', async () => {
    const from = await service(undefined, { faults: ['503@collection=leads,purpose=page,page=2-3,times=1'] });
    const cwd = await workplace(joined);
    expect((await cli(run('r.json'), { cwd, env: from.env })).code).toBe(0);
    const report = JSON.parse(await textIn(cwd));
    expect(report).toMatchObject({
      status: 'published',
      exit: 0,
      version,
      service: { baseUrl: from.url, limit: 100 },
      read: 1_200,
      steps: [{ at: 'steps[0] join', tally: { matched: 1_200, missed: 0 } }],
      sinks: [{ books: { read: 1_200, written: 1_200 } }],
      requests: { probe: from.probes.length, retries: { 503: 2 } },
    });
    expect(report.requests.page + report.requests.probe).toBe(from.requests.length + from.probes.length);
    expect(report.stages.map(({ stage }: { stage: string }) => stage)).toEqual(
      expect.arrayContaining(['reading leads', 'reading bridges for steps[0] join', 'finishing to[0] csv', 'publishing']),
    );
    expect(JSON.stringify(report)).not.toContain(testKey);
  });

  test('has of a run that a gate refused what one that published has, and why it failed', async () => {
    const [from, cwd] = [await service(), await workplace(`${joined}expect: { min_rows: 5000 }`)];
    expect((await cli(run('r.json'), { cwd, env: from.env })).code).toBe(65);
    const report = JSON.parse(await textIn(cwd));
    const error = { code: 'E_GATE_EXPECT', help: expect.any(String) };
    expect(report).toMatchObject({ status: 'failed', exit: 65, error, runId: expect.any(String), read: 1_200, keptPages: 0 });
    expect(report.gates.filter(({ outcome }: { outcome: string }) => outcome === 'refused')).toMatchObject([{ gate: 'expect.min_rows' }]);
  });

  test('has of a run that was refused its credentials, and of a file that is wrong, why', async () => {
    const [from, cwd] = [await service(), await workplace(joined)];
    const env = { ...from.env, LEADSTREAM_REST_API_KEY: 'wrong-key' };
    expect((await cli(run('r.json'), { cwd, env })).code).toBe(77);
    expect(JSON.parse(await textIn(cwd))).toMatchObject({ status: 'failed', exit: 77, runId: expect.any(String), read: 0 });
    await writeFile(join(cwd, 'p.yaml'), pipelineText('from: leeds\nto:\n  - stdout: {}'));
    expect((await cli(run('r.json'), { cwd, env })).code).toBe(78);
    const error = { code: 'E_SPEC_INVALID', message: expect.stringContaining('p.yaml:7:7 '), help: expect.any(String) };
    expect(JSON.parse(await textIn(cwd))).toEqual({ status: 'failed', file: 'p.yaml', exit: 78, error, version });
  });

  test('is no failure when the reader of stdout has had enough', async () => {
    const [from, cwd] = [await service(), await workplace(toStdout)];
    const { process: child, finished } = startCli([...run('r.json'), '--log-format', 'json'], { cwd, env: from.env });
    if (child.stdout) await once(child.stdout, 'data');
    child.stdout?.destroy();
    const { code, stderr } = await finished;
    expect(code).toBe(0);
    expect(stderr).toContain('"event":"run.closed"');
    expect(stderr).not.toContain('failed');
    expect(JSON.parse(await textIn(cwd))).toMatchObject({ status: 'closed', exit: 0, pipeline: 'test' });
  });
});

describe('a report as a page', () => {
  test('has a picture, no script and a policy against it, and takes the place of an earlier one', async () => {
    const [from, cwd] = [await service(), await workplace(joined)];
    for (let time = 0; time < 2; time += 1) expect((await cli(run('r.html'), { cwd, env: from.env })).code).toBe(0);
    const page = await textIn(cwd, 'r.html');
    expect(page).toContain('1,200 leads in 12 pages');
    expect(page).toContain('<rect class="way"');
    expect(page).toContain('to[0] csv: written');
    expect(page).not.toContain('<script');
    expect(page).toContain(`content="default-src 'none';`);
  });

  test('escapes what comes from the service', async () => {
    const odd = '<img src=x onerror=alert(1)>|`*_';
    const users = Array.from({ length: 3 }, (_each, index) => ({ uid: String(index), affid: odd, [odd]: 'x' }));
    const [from, cwd] = [await serviceOf({ users }), await workplace(toCsv.replace('leads', 'users'))];
    expect((await cli(run('r.html'), { cwd, env: from.env })).code).toBe(0);
    expect(await textIn(cwd, 'r.html')).not.toContain('<img');
    expect(await textIn(cwd, 'r.html')).toContain('&lt;img src=x');
  });
});

test.each(['r.json', 'r.html'])('%s and the log hold no text of rows: any field that is text may name a person', async (file) => {
  const address = 'jane@example.com';
  const plain = Object.entries(collections.leads.fields).filter(([, { sensitivity }]) => sensitivity === 'plain');
  const texts = plain.map(([name, { original = name }]: [string, { readonly original?: string }]) => [original, `/?email=${address}`]);
  const rows = Array.from({ length: 4 }, (_each, index) => ({ ...Object.fromEntries(texts), lead_id: String(index) }));
  const from = await serviceOf({ leads: rows });
  const cwd = await workplace(`${toCsv}\nexpect: { accepted_values: { referer: [direct] } }`);
  for (const code of [65, 0]) {
    const finished = await cli([...run(file), '--log-format', 'json'], { cwd, env: from.env });
    expect(finished.code).toBe(code);
    for (const text of [finished.stderr, await textIn(cwd, file)]) expect(text).not.toContain(address);
    await writeFile(join(cwd, 'p.yaml'), pipelineText(toCsv));
  }
});

/** Paths that a run does not write next to its outputs, by the option that names them: the exit code, and what is said. */
const refusals: readonly (readonly [option: string, paths: readonly string[], code: number, message: string])[] = [
  ['--report', ['p.yaml', 'keys.env', 'notes.txt', 'gs://bucket/r.json', 'r-{{ run.date }}.json'], 2, '--report'],
  [
    '--report',
    ['out/leads.csv', 'out/leads.csv.rejects.ndjson', 'out/leads.csv/r.json'],
    2,
    "an output of the pipeline 'test', or inside it",
  ],
  ['--report', ['missing/r.json', '/usr', 'pipe'], 1, 'E_SINK_PATH: --report '],
  ['--metrics', ['other.prom'], 2, 'other than leadstream metrics'],
  ['--metrics', ['m.txt'], 2, 'end in .prom'],
  ['--metrics', ['nowhere/m.prom'], 1, 'E_SINK_PATH'],
  ['--metrics', ['gs://bucket/m.prom', 'm-{{ run.date }}.prom'], 2, '--metrics'],
  ['--state-dir', ['gs://bucket/state', 's-{{ run.date }}'], 2, '--state-dir'],
];

test.each(refusals)('%s at any of %j is refused before any request, and what is there stays', async (option, paths, code, message) => {
  const theirs = { 'keys.env': `LEADSTREAM_REST_API_KEY='${testKey}'\n`, 'notes.txt': 'not ours', 'other.prom': 'node_load1 0.5\n' };
  const files = { 'p.yaml': pipelineText(toCsv), 'out/leads.csv': 'of yesterday', ...theirs };
  const [from, cwd] = [await service(), await folderWith(files)];
  execFileSync('mkfifo', [join(cwd, 'pipe')]);
  const before = await filesBelow(cwd);
  for (const path of paths)
    expect(await cli(['run', 'p.yaml', '--env', 'keys.env', option, path], { cwd, env: from.env })).toMatchObject({
      code,
      stderr: expect.stringContaining(message),
    });
  expect([from.requests, await filesBelow(cwd)]).toEqual([[], before]);
  for (const [name, text] of Object.entries(files)) expect(await textIn(cwd, name)).toBe(text);
});

describe('--report', () => {
  test('only warns when it cannot be written at the end, and hides no failure', async () => {
    const [from, cwd] = [await service(), await workplace(toCsv)];
    expect(await cli(['run', 'p.yaml', '--report', '/dev/full'], { cwd, env: from.env })).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('the report was not written: --report /dev/full: ENOSPC'),
    });
    expect(await visible(join(cwd, 'out'))).toContain('leads.csv');
    const env = { ...from.env, LEADSTREAM_REST_API_KEY: 'wrong-key' };
    const failed = await cli(['run', 'p.yaml', '--report', '/dev/full'], { cwd, env });
    expect(failed).toMatchObject({ code: 77, stderr: expect.stringContaining('E_SOURCE_AUTH') });
  });

  test('given several times writes each in the format of its name', async () => {
    const [from, cwd] = [await service(), await workplace(joined)];
    const asked = [...run('r.json'), '--report', 'r.html', '--report'];
    const earlier = '<!doctype html>\n<!-- leadstream report -->of yesterday';
    await writeFile(join(cwd, 'notes.md'), 'mine');
    await writeFile(join(cwd, 'r.html'), earlier);
    expect(await cli([...asked, 'notes.md'], { cwd, env: from.env })).toMatchObject({ code: 2 });
    expect([await textIn(cwd, 'notes.md'), await textIn(cwd, 'r.html')]).toEqual(['mine', earlier]);
    expect(await visible(cwd)).toEqual(['notes.md', 'p.yaml', 'r.html']);
    expect((await cli(asked.slice(0, -1), { cwd, env: from.env })).code).toBe(0);
    expect(JSON.parse(await textIn(cwd))).toMatchObject({ status: 'published' });
    expect(await textIn(cwd, 'r.html')).toMatch(/^<!doctype html>/);
  });

  test('is put in place as a whole, with the permissions that it had; what is a link stays one', async () => {
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
    expect(JSON.parse(await textIn(cwd, 'link.json'))).toMatchObject({ status: 'published' });
  });
});
