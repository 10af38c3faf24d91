import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { collections, columnsOf } from '../../../src/collections/index.js';
import { logCommit, reserveFile } from '../../../src/store/index.js';
import { headerOf } from '../../../src/source/spool/page-log.js';
import { tableRuns } from '../../../src/lake/index.js';
import { loadPipeline, loadPipelines } from '../../../src/plan/index.js';
import { runPipeline, type RunOptions } from '../../../src/run/index.js';
import { csv, parquet } from '../../../src/sinks/index.js';
import { leads, pipelineFor, runIn, pipelineText, serviceOf, type LoggedService } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const env = { LEADSTREAM_BASE_URL: 'https://data.example', LEADSTREAM_REST_API_KEY: 'key-of-the-test' };
const to = (path: string, sink = 'csv') => `from: leads\nto:\n  - ${sink}: { path: '${path}' }`;

test('the path of an output is refused when it is a link, whose file would stay as it was', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'real.csv'), 'as it was');
  await symlink('real.csv', join(folder, 'x.csv'));
  await expect(runIn(await serviceOf({ leads: leads(1) }), to('x.csv'), folder)).rejects.toMatchObject({
    code: 'E_SINK_PATH',
    message: expect.stringContaining('it is a link to real.csv; name that file, or remove the link'),
  });
  expect(await readFile(join(folder, 'real.csv'), 'utf8')).toBe('as it was');
});

/** A folder with a table and links, given as what they point to by their names. */
async function folderWith(links: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder();
  for (const name of ['lake/.t.runs/run-1', 'out', 'other']) await mkdir(join(folder, name), { recursive: true });
  await symlink('.t.runs/run-1', join(folder, 'lake/t'));
  for (const [name, target] of Object.entries(links)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await symlink(target, join(folder, name));
  }
  return folder;
}

const both = (first: string, second: string) => `from: users\nto:\n  - ${first}\n  - ${second}`;
const file = (path: string) => `csv: { path: '${path}' }`;
const table = 'parquet: { path: lake/t }';
const tableU = 'parquet: { path: out/u }';

describe('two outputs on one place', () => {
  test.each<[what: string, first: string, second: string, links?: Readonly<Record<string, string>>]>([
    ['the same path', file('a/x'), file('a/../a/x')],
    ['a path on one day', file('x-{{ run.date }}.csv'), file('x-{{run.date}}.csv')],
    ['a path within another one on one day', 'parquet: { path: "x/{{ run.date }}" }', file('x/2026-10-05')],
    ['the name of the pipeline', file('{{ pipeline }}.csv'), file('test.csv')],
    ['a linked folder', file('out/u.csv'), file('link/u.csv'), { link: 'out' }],
    ['a link to a link', file('out/u.csv'), file('link/u.csv'), { link: 'other/link', 'other/link': '../out' }],
    ['a linked folder above folders that are missing', file('out/a/b/u.csv'), file('link/a/b/u.csv'), { link: 'out' }],
    ['a link to the table that is the other', table, file('link/u.csv'), { link: 'lake/t' }],
    ['a linked folder on every day', file('out/{{ run.date }}/u.csv'), file('link/{{ run.date }}'), { link: 'out' }],
    ['a link to a run of the table that is the other', table, file('link/u.csv'), { link: 'lake/.t.runs/run-1' }],
    ['the lock of the other', file('out/u'), file('out/.u.lock')],
    ['a partial file of the other', file('out/u'), file('out/.u.run-1.partial')],
    ['a file in the runs of the other', tableU, file('out/.u.runs/x/y')],
  ])('are refused when the file is checked, also in two pipelines: %s', async (_what, first, second, links = {}) => {
    const baseDir = await folderWith(links);
    const overlapping = /is (?:the output of to\[0\]|an output of the pipeline 'test'), or overlaps it/;
    for (const body of [both(first, second), both(second, first)])
      await expect(loadPipeline({ text: pipelineText(body), file: 'p.yaml' }, { env, baseDir })).rejects.toThrow(overlapping);
    const one = pipelineText(`from: users\nto:\n  - ${first}`);
    const two = pipelineText(`from: users\nto:\n  - ${second}`).replace('name: test', 'name: second');
    if (!first.includes('pipeline'))
      await expect(loadPipelines({ text: `${one}\n---\n${two}`, file: 'p.yaml' }, { env, baseDir })).rejects.toThrow(overlapping);
  });

  test.each([
    ['x/{{ run.date }}', 'x/2026-10'],
    ['{{ run.date }}.csv', '{{ pipeline }}.csv'],
    ['out/u', 'out/.u'],
    ['out/u', 'out/.u.lockx.lock'],
    ['out/u', 'out/x/.u.lock'],
    ['out/u.csv', 'out/v.csv'],
  ])('are not %s and %s', async (first, second) => {
    const baseDir = await folderWith({ 'out/v.csv': 'u.csv', link: 'out', loop: 'loop' });
    const { plan } = await loadPipeline({ text: pipelineText(both(file(first), file(second))), file: 'p.yaml' }, { env, baseDir });
    expect(plan.sinks).toHaveLength(2);
  });

  test('are refused by a run before any request, where a link came after the check', async () => {
    const [from, baseDir] = [await serviceOf({ users: [] }), await temporaryFolder()];
    await mkdir(join(baseDir, 'out'));
    await writeFile(join(baseDir, 'out/u.csv'), 'old');
    const text = pipelineText(both(file('out/u.csv'), file('link/u.csv')));
    const pipeline = await loadPipeline({ text, file: 'p.yaml' }, { env: from.env, baseDir });
    await symlink('out', join(baseDir, 'link'));
    await expect(runPipeline(pipeline)).rejects.toMatchObject({
      code: 'E_SINK_PATH',
      message: expect.stringContaining('are the same through a link, or one is inside the other'),
    });
    expect(from.requests).toEqual([]);
    expect(await readdir(join(baseDir, 'out'))).toEqual(['u.csv']);
  });
});

describe('an output in the state folder', () => {
  test.each(['.leadstream/runs.ndjson', '.leadstream/x/{{ run.date }}', 'link/x'])('is refused: %s', async (path) => {
    const [from, baseDir] = [await serviceOf({ users: [] }), await folderWith({ link: '.leadstream/counts' })];
    await mkdir(join(baseDir, '.leadstream/counts'), { recursive: true, mode: 0o700 });
    const text = pipelineText(`from: users\nto: [{ csv: { path: '${path}' } }]`);
    const load = (stateDir?: string) => loadPipelines({ text, file: 'p.yaml' }, { env: from.env, baseDir, ...(stateDir && { stateDir }) });
    await expect(load('.leadstream')).rejects.toThrow(/is the state folder .*\.leadstream, or overlaps it/);
    expect(await load('elsewhere')).toHaveLength(1);
    await expect(runPipeline(await loadPipeline({ text, file: 'p.yaml' }, { env: from.env, baseDir }))).rejects.toMatchObject({
      code: 'E_SINK_PATH',
    });
    expect(from.requests).toEqual([]);
    expect(await readdir(join(baseDir, '.leadstream'))).toEqual(['counts']);
  });

  test.each(['lake/.leadstream', '.lake.runs/x', 'lake'])('is refused around it, too: %s', async (stateDir) => {
    const options = { env, baseDir: await folderWith({}), stateDir };
    const text = pipelineText('from: users\nto: [{ parquet: { path: lake } }]');
    await expect(loadPipelines({ text, file: 'p.yaml' }, options)).rejects.toThrow(/, or overlaps it/);
  });
});

describe('an output inside the table of another pipeline', () => {
  test.each([
    ['a table', 'parquet: { path: lake/t/sub }'],
    ['a file', file('lake/t/a/b/x.csv')],
    ['a file through a link', file('link/x.csv')],
    ['a file in its runs', file('lake/.t.runs/x.csv')],
    ['a file in a table that is not published yet', file('lake/new/x.csv')],
    ['the rejects', `${file('x.csv')}\nrejects: { path: lake/t/x.ndjson }`],
    ['the state folder', file('x.csv')],
  ])('is refused before any request, and leaves nothing: %s', async (what, sink) => {
    const [from, baseDir] = [await serviceOf({ users: [{ uid: '1' }] }), await folderWith({ link: 'lake/t' })];
    await mkdir(join(baseDir, 'lake/.new.runs'));
    const before = await readdir(baseDir, { recursive: true });
    const text = pipelineText(`from: users\nto:\n  - ${sink}`);
    const pipeline = await loadPipeline({ text, file: 'p.yaml' }, { env: from.env, baseDir });
    const refused = { code: 'E_SINK_PATH', message: expect.stringMatching(/ is inside the table .*\/lake\/(?:t|new), whose next run/) };
    const stateDir = join(baseDir, what === 'the state folder' ? 'lake/t/.leadstream' : '.leadstream');
    await expect(runPipeline(pipeline, { stateDir })).rejects.toMatchObject(refused);
    await expect(csv({ path: 'link/x.csv' }, { baseDir })).rejects.toMatchObject(refused);
    expect([from.requests, await readdir(baseDir, { recursive: true })]).toEqual([[], before]);
  });

  test('is not replaced by a table around it, either', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(3) }), await temporaryFolder()];
    await runIn(from, to('lake/t', 'parquet'), folder);
    await expect(runIn(from, to('lake', 'parquet'), folder)).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    expect(await readdir(join(folder, 'lake/t'))).toHaveLength(1);
  });
});

describe('outputs with names in braces', () => {
  const today = () => new Date().toISOString().slice(0, 10);

  test('are published under them, the rejects too', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(3) }), await temporaryFolder()];
    const body = [
      'from: leads',
      'to:',
      "  - csv: { path: 'out/{{ run.date }}/{{ pipeline }}.csv' }",
      "  - ndjson: { path: 'out/{{ run.id }}.ndjson' }",
      "  - parquet: { path: 'lake/{{run.date}}/leads' }",
    ].join('\n');
    const report = await runIn(from, body, folder);
    const [csvPath, ndjsonPath, table] = report.sinks.map(({ path = '' }) => path);
    expect(csvPath).toBe(join(folder, 'out', report.startedAt.slice(0, 10), 'test.csv'));
    expect(ndjsonPath).toBe(join(folder, 'out', `${report.runId}.ndjson`));
    expect(table).toBe(join(folder, 'lake', report.startedAt.slice(0, 10), 'leads'));
    expect(report.rejects.path).toBe(`${csvPath}.rejects.ndjson`);
    for (const path of [csvPath, ndjsonPath, String(table), report.rejects.path]) expect(existsSync(String(path))).toBe(true);
    expect((await readdir(folder, { recursive: true })).filter((name) => name.includes('{{'))).toEqual([]);
  });

  test('are locked under them', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(250) }), await temporaryFolder()];
    const second = await pipelineFor(from, `${to('x.csv')}\nrejects: { path: test-${today()}.csv }`, folder);
    let met: Promise<unknown> | undefined;
    const page = () => void (met ??= runPipeline(second, { stateDir: join(folder, 'other') }).catch((error: unknown) => error));
    await runIn(from, to('{{ pipeline }}-{{ run.date }}.csv'), folder, { watch: { page } });
    expect(await met).toMatchObject({ code: 'E_RUN_LOCKED', message: expect.stringContaining(`test-${today()}.csv`) });
  });

  /** A stopped run whose pages seem to be two days old. @returns Since when. */
  async function stoppedTwoDaysAgo(
    from: LoggedService,
    body: string,
    folder: string,
    options: RunOptions,
    set: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const stop = new AbortController();
    const pipeline = await pipelineFor(from, body, folder, set);
    const stopped = runPipeline(pipeline, { ...options, signal: stop.signal, watch: { page: () => stop.abort() } });
    await expect(stopped).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
    const spool = join(options.stateDir ?? '', 'spool');
    let since = '';
    for (const name of (await readdir(spool)).filter((name) => /^(?:leads|bridges)-/.test(name))) {
      const marker = join(spool, name, 'started.json');
      const started = JSON.parse(await readFile(marker, 'utf8')) as { startedAt: string };
      since = new Date(Date.parse(started.startedAt) - 2 * 86_400_000).toISOString();
      await writeFile(marker, JSON.stringify({ ...started, startedAt: since }));
    }
    const begun = join(options.stateDir ?? '', 'begun', `${pipeline.name}.json`);
    const note = JSON.parse(await readFile(begun, 'utf8')) as object;
    await writeFile(begun, JSON.stringify({ ...note, startedAt: since, spoolSince: since }));
    return since;
  }

  const dated = (steps = '', spool = '{ max_age: 72h }') =>
    `from: leads\nconsistency: off\nspool: ${spool}\n${steps}to:\n  - csv: { path: 'out/{{ run.date }}.csv' }\n  - parquet: { path: t, partition_by: ['{{ run.date }}'] }`;

  test('bear the day on which a resumed run was first started, which is the clock of expressions, too', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(250) }), await temporaryFolder()];
    const options = { stateDir: join(folder, 'state') };
    const clock = dated('steps:\n  - derive: { at: now(), day: run_date(), week: days_before(7), month: month(now()) }\n');
    const versions = '\n  - parquet: { path: v, mode: merge, history: true, columns: [lead_id] }';
    const body = clock.replace("{{ run.date }}.csv'", "{{ run.date }}.csv', columns: [at, day, week, month]") + versions;
    const since = await stoppedTwoDaysAgo(from, body, folder, options);
    const report = await runPipeline(await pipelineFor(from, body, folder), options);
    const day = since.slice(0, 10);
    expect(report).toMatchObject({ since, sinks: [{ path: join(folder, 'out', `${day}.csv`) }, {}, {}] });
    expect(await tableRuns(join(folder, 'v'))).toMatchObject([{ manifest: { history: { boundary: since } } }]);
    expect((await readdir(join(folder, 't'))).filter((name) => name.includes('='))).toEqual([`run_date=${day}`]);
    const week = new Date(Date.parse(day) - 7 * 86_400_000).toISOString().slice(0, 10);
    const [, ...rows] = (await readFile(join(folder, 'out', `${day}.csv`), 'utf8')).trimEnd().split('\n');
    expect(rows).toEqual(Array(250).fill(`${since},${day},${week},${day.slice(0, 7)}`));
    expect((await runPipeline(await pipelineFor(from, body, folder), options)).sinks[0]?.path).toBe(join(folder, 'out', `${today()}.csv`));
  });

  const joined = dated('steps:\n  - join: { with: bridges, on: { bridge_id: id }, as: b, select: [title] }\n');

  test('do not bear the day of another pipeline that spooled the other side of a join', async () => {
    const other = dated().replace('from: leads', 'from: bridges');
    const folder = await temporaryFolder();
    const from = await serviceOf({ leads: leads(250), bridges: Array.from({ length: 250 }, (_, id) => ({ id, title: 'A' })) });
    const options = { stateDir: join(folder, 'state') };
    const since = await stoppedTwoDaysAgo(from, other, folder, options, { name: 'hourly' });
    await mkdir(join(folder, 'out'));
    const earlier = join(folder, 'out', `${since.slice(0, 10)}.csv`);
    await writeFile(earlier, 'of that day');
    const report = await runPipeline(await pipelineFor(from, joined, folder, { name: 'nightly' }), options);
    expect(report.sinks[0]?.path).toBe(join(folder, 'out', `${today()}.csv`));
    expect(await readFile(earlier, 'utf8')).toBe('of that day');
  });

  test.each<[string, string, RunOptions, string[]]>([
    ['that was told to start over', dated(), { restart: true }, []],
    ['that finds pages which are too old', dated('', '{ max_age: 6h }'), {}, []],
    ['that finds pages of a list which has changed', dated(), {}, ['W_SPOOL_STALE']],
  ])('bear the day of a run %s', async (_what, body, more, warned) => {
    const [from, folder] = [await serviceOf({ leads: leads(250) }), await temporaryFolder()];
    const options = { stateDir: join(folder, 'state') };
    await stoppedTwoDaysAgo(from, dated(), folder, options);
    const [spool = ''] = (await readdir(join(folder, 'state', 'spool'))).filter((name) => name.startsWith('leads-'));
    const page = Buffer.from('[{"lead_id":"of another list"}]');
    if (warned.length > 0) await writeFile(join(folder, 'state', 'spool', spool, 'pages.log'), Buffer.concat([headerOf(1, page), page]));
    const report = await runPipeline(await pipelineFor(from, body, folder), { ...options, ...more });
    expect(report.warnings.map(({ code }) => code)).toEqual(expect.arrayContaining(warned));
    expect(report.sinks[0]?.path).toBe(join(folder, 'out', `${today()}.csv`));
    expect(await readdir(join(folder, 'out'))).toEqual([`${today()}.csv`, `${today()}.csv.rejects.ndjson`]);
  });

  test('complete what a killed run of another day had decided, and do not take its day', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(250) }), await temporaryFolder()];
    const options = { stateDir: join(folder, 'state') };
    const since = await stoppedTwoDaysAgo(from, dated(), folder, options);
    const [spent = ''] = (await readdir(join(folder, 'state', 'spool'))).filter((name) => name.startsWith('leads-'));
    const earlier = join(folder, 'out', `${since.slice(0, 10)}.csv`);
    await mkdir(join(folder, 'out'));
    const file = await reserveFile(earlier, 'killed');
    await file.append('decided\n');
    await file.close();
    const spool = join(folder, 'state', 'spool', spent);
    const commit = { runId: 'killed', pipeline: 'test', outputs: [earlier], actions: [file.action], spent: [spool] };
    await logCommit(join(folder, 'state', 'redo-log'), commit);
    const report = await runPipeline(await pipelineFor(from, dated(), folder), options);
    expect(report.warnings).toContainEqual(expect.objectContaining({ code: 'W_RUN_RECOVERED' }));
    expect(await readFile(earlier, 'utf8')).toBe('decided\n');
    expect(basename(report.sinks[0]?.path ?? '')).toBe(`${today()}.csv`);
  });
});

describe('paths in code', () => {
  test.each([csv, parquet])('are refused in the same way', async (sink) => {
    for (const path of ['~/x', '$DAY/x', 'gs://bucket/x', 'x-{{ run.day }}', '{{ run.date }}/../x', 'x\uD800', 'x\0'])
      await expect(sink({ path })).rejects.toMatchObject({ code: 'E_SINK_CONFIG', exit: 78 });
  });

  test('fill in what the context says, which climbs nowhere', async () => {
    const baseDir = await temporaryFolder();
    const writer = await csv({ path: '{{ pipeline }}-{{ run.date }}.csv' }, { baseDir, pipeline: 'mine', runDate: () => '2026-01-02' });
    await writer.begin(columnsOf(collections.users));
    expect(await writer.prepare()).toMatchObject({ path: join(baseDir, 'mine-2026-01-02.csv') });
    for (const pipeline of ['../x', 'a/b', '..', '', '.x'])
      await expect(csv({ path: 'a/{{ pipeline }}.csv' }, { baseDir, pipeline })).rejects.toMatchObject({ code: 'E_SINK_CONFIG' });
  });
});
