import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cli } from '../../support/cli.js';
import { service } from '../../support/services.js';
import { folderWith, temporaryFolder, visible } from '../../support/temporary.js';

const head = (name: string) =>
  `name: ${name}\nservice: { base_url: "\${LEADSTREAM_BASE_URL}", auth: { rest_api_key: "\${LEADSTREAM_REST_API_KEY}" }, limit: 100, end_wait: 1ms }`;
const good = (name: string, from = 'users') => `${head(name)}\nfrom: ${from}\nto:\n  - csv: { path: ${name}.csv }\n`;
const refused = (name: string) => `${good(name)}expect: { min_rows: 100000 }\n`;

/** A folder with the given pipelines in one file. */
const workplaceOf = (...documents: readonly string[]) => folderWith({ 'p.yaml': documents.join('---\n') });

const run = ['run', 'p.yaml', '--report', 'r.json'];
const reportIn = async (cwd: string): Promise<unknown> => JSON.parse(await readFile(join(cwd, 'r.json'), 'utf8'));
const csvs = async (cwd: string) => (await visible(cwd)).filter((name) => name.endsWith('.csv'));

describe('leadstream run on a file of several pipelines', () => {
  test('runs one after another, and says in the end which were published', async () => {
    const [from, cwd] = [await service(), await workplaceOf(good('b'), good('a', 'bridges'))];
    const { code, stderr } = await cli(run, { cwd, env: from.env });
    expect({ code, csvs: await csvs(cwd) }).toEqual({ code: 0, csvs: ['a.csv', 'b.csv'] });
    expect(stderr.trim().split('\n').at(-1)).toBe('published: b, a');
    const collections = from.requests.map((request) => request.split('?')[0]);
    expect(collections.lastIndexOf('users')).toBeLessThan(collections.indexOf('bridges'));
    expect(await reportIn(cwd)).toMatchObject({
      status: 'published',
      pipelines: [
        { status: 'published', pipeline: 'b' },
        { status: 'published', pipeline: 'a' },
      ],
    });
  });

  test('goes on after a failure, and exits with the code of the first', async () => {
    const unreadable = good('links', 'links');
    const from = await service(undefined, { faults: ['404@collection=links'] });
    const cwd = await workplaceOf(good('a'), refused('b'), unreadable, good('c'));
    const { code, stderr } = await cli(run, { cwd, env: from.env });
    expect({ code, csvs: await csvs(cwd) }).toEqual({ code: 65, csvs: ['a.csv', 'c.csv'] });
    const said = stderr.trim().split('\n');
    expect(said.at(-1)).toBe('published: a, c; failed: b, links');
    expect(said.findIndex((line) => line.includes('E_GATE_EXPECT'))).toBeLessThan(said.findIndex((line) => line.includes('c: read')));
    expect(await reportIn(cwd)).toMatchObject({
      status: 'failed',
      pipelines: [
        { status: 'published', pipeline: 'a' },
        { status: 'failed', pipeline: 'b', error: { code: 'E_GATE_EXPECT' } },
        { status: 'failed', pipeline: 'links', error: { code: 'E_SOURCE_REFUSED' } },
        { status: 'published', pipeline: 'c' },
      ],
    });
  });

  test('stops when credentials are refused, which all would meet', async () => {
    const [from, cwd] = [await service(), await workplaceOf(good('a'), good('b'))];
    const { code, stderr } = await cli(run, { cwd, env: { ...from.env, LEADSTREAM_REST_API_KEY: 'wrong-key' } });
    expect({ code, csvs: await csvs(cwd) }).toEqual({ code: 77, csvs: [] });
    expect(stderr.match(/E_SOURCE_AUTH: .*; rest_api_key is from \$\{LEADSTREAM_REST_API_KEY\}\. /g)).toHaveLength(1);
    expect(stderr.match(/E_SOURCE_AUTH/g)).toHaveLength(1);
    expect(stderr.trim().split('\n').at(-1)).toBe('failed: a; not run: b');
    expect(await reportIn(cwd)).toMatchObject({
      status: 'failed',
      pipelines: [{ status: 'failed' }, { status: 'not_run', pipeline: 'b' }],
    });
  });

  test('stops after a signal and keeps what was published', async () => {
    const from = await service(undefined, { faults: ['delay=100@collection=leads'] });
    const cwd = await workplaceOf(good('a'), refused('r'), good('b', 'leads'), good('c'));
    const stop = new AbortController();
    const running = cli(run, { cwd, env: from.env, signal: stop.signal });
    await from.until((requests) => requests.some((request) => request.startsWith('leads')));
    stop.abort();
    const { code, stderr } = await running;
    expect({ code, csvs: await csvs(cwd) }).toEqual({ code: 130, csvs: ['a.csv'] });
    expect(stderr.trim().split('\n').at(-1)).toBe('published: a; failed: r, b; not run: c');
  });

  test('requests nothing when any of them is wrong', async () => {
    const [from, cwd] = [await service(), await workplaceOf(good('a'), good('b').replace('csv:', 'cvs:'))];
    const { code, stderr } = await cli(run, { cwd, env: from.env });
    expect(code).toBe(78);
    expect(stderr).toMatch(/^p\.yaml:11:5 unknown sink 'cvs'/);
    expect(from.requests).toEqual([]);
    expect(await reportIn(cwd)).toMatchObject({ status: 'failed', error: { code: 'E_SPEC_INVALID' } });
  });
});

describe('leadstream run on several files', () => {
  test('runs them in order, tells what is wrong with one before any request, and gives the exit code of the first failure', async () => {
    const [from, cwd] = [
      await service(),
      await folderWith({ '1.yaml': good('a'), '2.yaml': 'name: b\nfrom: no\nto: []\n', '3.yaml': refused('c'), '4.yaml': good('d') }),
    ];
    const { code, stderr } = await cli(['run', '1.yaml', '2.yaml', '3.yaml', '4.yaml', '--report', 'r.json'], { cwd, env: from.env });
    expect({ code, csvs: await csvs(cwd) }).toEqual({ code: 78, csvs: ['a.csv', 'd.csv'] });
    const said = stderr.trim().split('\n');
    expect(said[0]).toMatch(/^2\.yaml:2:7 unknown collection 'no'/);
    expect(said.at(-1)).toBe('published: a, d; failed: c; not loaded: 2.yaml');
    expect(await reportIn(cwd)).toMatchObject({
      status: 'failed',
      pipelines: [
        { status: 'failed', file: '2.yaml', error: { code: 'E_SPEC_INVALID' } },
        { pipeline: 'a' },
        { pipeline: 'c', status: 'failed' },
        { pipeline: 'd' },
      ],
    });
  });

  test('runs the pipelines that --only names, and refuses names that there are not', async () => {
    const [from, cwd] = [await service(), await folderWith({ '1.yaml': `${good('a')}---\n${good('b')}`, '2.yaml': good('c') })];
    expect(await cli(['run', '1.yaml', '2.yaml', '--only', 'c', '--only', 'a'], { cwd, env: from.env })).toMatchObject({ code: 0 });
    expect(await csvs(cwd)).toEqual(['a.csv', 'c.csv']);
    const unknown = await cli(['run', '1.yaml', '--only', 'aa'], { cwd, env: from.env });
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("--only: unknown pipeline 'aa'") });
  });

  const quick = 'service: { limit: 500, end_wait: 1ms }';
  const into = (name: string, path: string, more = '') =>
    `name: ${name}\n${quick}\nfrom: users\nto:\n  - csv: { path: '${path}' }\n${more}`;
  const printing = (name: string) => `name: ${name}\n${quick}\nfrom: users\nto: [stdout: {}]\n`;

  test.each([
    ['the same name', into('a', 'a.csv'), into('a', 'b.csv'), 'has the name of'],
    ['the same path', into('a', 'a.csv'), into('b', './x/../a.csv'), 'writes to the same path'],
    ['a path within a table', 'name: a\nfrom: users\nto:\n  - parquet: { path: lake/a }\n', into('b', 'lake/a/b.csv'), 'inside that of'],
    ['a path of every day', into('a', '{{ run.date }}.csv'), into('b', '2026-01-31.csv'), 'writes to the same path'],
    ['stdout', printing('a'), printing('b'), 'prints to stdout'],
    ['paths of their runs', into('a', '{{ run.id }}.csv'), into('b', '{{ run.id }}.csv'), undefined],
  ])('run refuses two files that share %s, before any request', async (_what, one, other, told) => {
    const [from, cwd] = [await service(), await folderWith({ '1.yaml': one, '2.yaml': other })];
    const { code, stderr } = await cli(['run', '1.yaml', '2.yaml'], { cwd, env: from.env });
    expect(code).toBe(told === undefined ? 0 : 2);
    if (told !== undefined) expect(stderr).toMatch(new RegExp(`2\\.yaml: the pipeline '\\w' .*${told}.* 'a' of 1\\.yaml`));
    expect(from.requests.length === 0).toBe(told !== undefined);
  });
});

test('leadstream completion prints a script for the shell, which asks for commands and options', async () => {
  const cwd = await temporaryFolder();
  expect(await cli(['completion'], { cwd })).toMatchObject({ code: 0, stdout: expect.stringContaining('--get-yargs-completions') });
  const { code, stdout } = await cli(['--get-yargs-completions', 'leadstream', 'preview', '--r'], { cwd });
  expect({ code, offered: stdout.split('\n') }).toEqual({ code: 0, offered: expect.arrayContaining(['--rows', '--step', '--reveal']) });
});

test('files of one run ask a service at one rate, also where the last request of one and the first of the next meet', async () => {
  const at: number[] = [];
  const from = await service(undefined, { onRequest: () => void at.push(performance.now()) });
  const slow = (name: string) => good(name, 'links').replace('limit: 100', 'limit: 100, rate_limit: 2/s');
  const cwd = await folderWith({ 'a.yaml': slow('a'), 'b.yaml': slow('b') });
  expect(await cli(['run', 'a.yaml', 'b.yaml'], { cwd, env: from.env })).toMatchObject({ code: 0 });
  const gaps = at.slice(1).map((time, index) => time - (at[index] ?? 0));
  expect(gaps.length).toBeGreaterThan(0);
  // Requests start half a second apart; on its way one may lose some of that against the next.
  expect(Math.min(...gaps)).toBeGreaterThan(175);
});
