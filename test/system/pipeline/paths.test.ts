import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { collections, columnsOf } from '../../../src/collections/index.js';
import { SpecError } from '../../../src/core/errors.js';
import { logCommit, storeOf } from '../../../src/store/index.js';
import { headerOf } from '../../../src/source/spool/page-log.js';
import { recoverRuns, parsePipeline, parsePipelines, rollbackTable, runPipeline, type RunOptions } from '../../../src/pipeline/index.js';
import { csv, ndjson, parquet } from '../../../src/sinks/index.js';
import { cli } from '../../support/cli.js';
import { pipelineText, serviceOf, type LoggedService } from '../../support/services.js';
import { temporaryFolder, visible } from '../../support/temporary.js';
import { leads, pipelineFor, runIn } from '../../support/pipelines.js';
import { workplace } from '../cli/support.js';

const env = { LEADSTREAM_BASE_URL: 'https://data.example', LEADSTREAM_REST_API_KEY: 'key-of-the-test' };
const sinkNames = ['csv', 'ndjson', 'parquet'] as const;
const to = (path: string, sink = 'csv') => `from: leads\nto:\n  - ${sink}: { path: '${path}' }`;

/** The problems of a file, which is refused with 78. */
async function problems(body: string): Promise<readonly string[]> {
  try {
    await parsePipeline(pipelineText(body), 'p.yaml', { env });
    return [];
  } catch (error) {
    if (!(error instanceof SpecError)) throw error;
    expect(error.exit).toBe(78);
    return error.message.split('\n');
  }
}

describe('the path of an output', () => {
  test.each([
    ['~/x.csv', "only a shell expands '~'; write the path in full, or ${HOME}/…"],
    ['~nobody/x.csv', "only a shell expands '~'"],
    ['$HOME/x.csv', "only a shell expands '$HOME'; write ${HOME} in the file, or the path in full"],
    ['out/$DAY.csv', "only a shell expands '$DAY'"],
    ['out/leads-$DAY.csv', "only a shell expands '$DAY'"],
  ])('is no %s, which a shell would fill in', async (path, message) => {
    expect(await problems(to(path, 'csv'))).toEqual([expect.stringContaining(message)]);
  });

  test('is no link, whose file would stay as it was', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'real.csv'), 'as it was');
    await symlink('real.csv', join(folder, 'x.csv'));
    await expect(runIn(await serviceOf({ leads: leads(1) }), to('x.csv'), folder)).rejects.toMatchObject({
      code: 'E_SINK_PATH',
      message: expect.stringContaining('it is a link to real.csv; name that file, or remove the link'),
    });
    expect(await readFile(join(folder, 'real.csv'), 'utf8')).toBe('as it was');
  });

  test.each(sinkNames)('is a path of this machine, for %s', async (sink) => {
    const what = sink === 'parquet' ? 'tables' : 'outputs';
    for (const path of [
      's3://bucket/x',
      'gs://b/x',
      'file:///tmp/x',
      'S3:/bucket/x',
      'hdfs://host:9000/x',
      'abfss://a@b/x',
      'az+x://b',
      's3:b/x',
      'GS:x',
    ]) {
      expect(await problems(to(path, sink))).toEqual([
        expect.stringMatching(new RegExp(`^p\\.yaml:9:\\d+ '\\S+:' is a scheme, but ${what} are files on this machine; .*copy`)),
      ]);
    }
  });

  test.each(['./s3:/bucket/x', './s3:x', 's3/x', 'a:b.csv', 'leads:2024.csv', '/data/s3:x', 'x://y'])(
    'may contain a colon that ends no scheme: %s',
    async (path) => {
      expect(await problems(to(path))).toEqual(path === 'x://y' ? [expect.stringContaining('scheme')] : []);
    },
  );

  test.each([' x', 'x ', '\tx', ' s3://bucket/x'])('has no white space around it: %j', async (path) => {
    expect(await problems(to(path))).toEqual([expect.stringContaining('it begins or ends with white space')]);
  });

  test.each(sinkNames)('knows a few names in braces and no others, for %s', async (sink) => {
    for (const path of ['{{ run.date }}/x', 'a/{{run.id}}', '{{  pipeline }}', 'a-{{ run.date }}-{{ pipeline }}-{{ run.id }}'])
      expect(await problems(to(path, sink))).toEqual([]);
    for (const name of ['run.day', 'date', '', 'run.Date', 'run', 'run . date', 'env.HOME', '../x', 'run.date | x']) {
      expect(await problems(to(`x-{{ ${name} }}`, sink))).toEqual([expect.stringMatching(/^p\.yaml:9:\d+ '\{\{.*\}\}' .*run\.date/)]);
    }
  });

  test.each(['x-{{ run.date', 'x-run.date }}', '{{ {{ run.date }} }}', '{{ run.date }}}}'])('has braces in pairs: %s', async (path) => {
    expect(await problems(to(path))).toEqual([expect.stringContaining('run.date')]);
  });

  test.each(['{{ run.date }}/../x', 'a/{{ pipeline }}/b/../../../x', '{{ run.id }}/..'])(
    'does not climb behind a name in braces: %s',
    async (path) => {
      expect(await problems(to(path))).toEqual([expect.stringContaining("'..' after")]);
    },
  );

  test.each(sinkNames)('is well-formed Unicode without NUL, for %s', async (sink) => {
    for (const path of ['x\\uD800', 'x\\uDC00.csv', '\\uD800/x', 'a\\uDC00\\uD800', 'x\\0y', '\\0', '{{ run.date }}\\0']) {
      const body = `${to('PATH', sink)}\nrejects: { path: r }`.replace(/'PATH'|"PATH"|PATH/, `"${path}"`);
      expect(await problems(body)).toEqual([expect.stringMatching(/^p\.yaml:9:\d+ path: it has characters that no path may have/)]);
      expect(await problems(`${to('x', sink)}\nrejects: { path: "${path}" }`)).toEqual([expect.stringContaining('no path may have')]);
    }
    expect(await problems(to('x', sink).replace(/'x'|"x"|\bx\b/, '"\\uD83D\\uDE00 ü"'))).toEqual([]);
  });

  test('may climb before one', async () => {
    expect(await problems(to('../lake/{{ run.date }}'))).toEqual([]);
  });

  test.each([
    ['s3://bucket/r', 'is a scheme'],
    ['{{ run.day }}', 'the names are {{ run.date }}'],
  ])('is checked for the rejects too: %s', async (path, message) => {
    expect(await problems(`${to('x')}\nrejects: { path: '${path}' }`)).toEqual([expect.stringContaining(message)]);
  });

  test.each([
    ['csv', 'x-{{ run.date }}.csv', 'x-{{run.date}}.csv'],
    ['parquet', 'x/{{ run.date }}', 'x/2026-10-05'],
    ['ndjson', 'x/{{ run.date }}/y', 'x/2026-10-05'],
    ['csv', '{{ pipeline }}.csv', 'test.csv'],
    ['csv', '{{ run.id }}', 'a/../{{run.id}}'],
  ])('is that of no other output on any day: %s %s and %s', async (sink, one, other) => {
    expect(await problems(`from: leads\nto:\n  - ${sink}: { path: '${one}' }\n  - csv: { path: '${other}' }`)).toContainEqual(
      expect.stringContaining('to[0] writes to the same or an overlapping path'),
    );
    expect(await problems(`from: leads\nto:\n  - ${sink}: { path: '${one}' }\nrejects: { path: '${other}' }`)).toEqual([
      expect.stringContaining('a sink writes to'),
    ]);
  });

  test.each([
    ['x/{{ run.date }}', 'x/2026-10'],
    ['x/{{ run.date }}', 'x/{{ run.id }}'],
    ['{{ run.date }}.csv', '{{ pipeline }}.csv'],
  ])('is another one: %s and %s', async (one, other) => {
    expect(await problems(`from: leads\nto:\n  - csv: { path: '${one}' }\n  - csv: { path: '${other}' }`)).toEqual([]);
  });

  test('is told apart between the pipelines of a file', async () => {
    const document = (name: string, path: string) => `name: ${name}\nfrom: users\nto:\n  - csv: { path: '${path}' }\n`;
    const parse = (path: string, other = path) => parsePipelines(`${document('a', path)}---\n${document('b', other)}`, 'p.yaml', { env });
    await expect(parse('{{ run.date }}.csv')).rejects.toThrow("the pipeline 'a' already writes to the same or an overlapping path");
    await expect(parse('{{ run.date }}.csv', '2026-10-05.csv')).rejects.toThrow(
      "the pipeline 'a' already writes to the same or an overlapping path",
    );
    expect(await parse('{{ pipeline }}-{{ run.date }}.csv')).toHaveLength(2);
    expect(await parse('{{ run.id }}.csv')).toHaveLength(2);
  });
});

describe('a key __proto__', () => {
  test.each([
    ['steps:\n  - derive: { __proto__: upper(uid) }', 'p.yaml:8:15'],
    ['steps:\n  - mask: { __proto__: drop }', 'p.yaml:8:13'],
    ['steps:\n  - rename: { __proto__: x }', 'p.yaml:8:15'],
    ['steps:\n  - cast: { types: { __proto__: flag } }', 'p.yaml:8:22'],
    ['steps:\n  - join: { with: bridges, on: { __proto__: id } }', 'p.yaml:8:34'],
    ['expect: { max_null: { __proto__: 1% } }', 'p.yaml:7:23'],
    ['__proto__: { x: y }', 'p.yaml:7:1'],
  ])('is refused at its place, where it would vanish: %s', async (body, place) => {
    const found = await problems(`${body}\nfrom: leads\nto:\n  - csv: { path: x }`);
    expect(found).toContainEqual(`${place} '__proto__' is not a valid name: its value would be lost`);
  });
});

describe('outputs with names in braces', () => {
  test('are where the file says, and not where the name of the pipeline would be a scheme', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(3) }), await temporaryFolder()];
    const pipeline = await pipelineFor(from, to('{{ pipeline }}://bucket/x.csv'), folder, { name: 's3' });
    const report = await runPipeline(pipeline, { stateDir: join(folder, 'state') });
    expect(report.sinks[0]?.path).toBe(join(folder, 's3:/bucket/x.csv'));
    expect(existsSync(join(folder, 's3:/bucket/x.csv'))).toBe(true);
  });

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
    const locks = new Set<string>();
    const pipeline = await pipelineFor(from, to('{{ pipeline }}-{{ run.date }}.csv'), folder);
    const second = await pipelineFor(from, `${to('x.csv')}\nrejects: { path: test-${today()}.csv }`, folder);
    let met: unknown;
    await runPipeline(pipeline, {
      stateDir: join(folder, 'state'),
      watch: {
        page: () => {
          met ??= runPipeline(second, { stateDir: join(folder, 'other') }).catch((error: unknown) => error);
          for (const name of existsSync(folder) ? [`.test-${today()}.csv.lock`] : []) if (existsSync(join(folder, name))) locks.add(name);
        },
      },
    });
    expect([...locks]).toEqual([`.test-${today()}.csv.lock`]);
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

  test('bear the day on which a resumed run was first started', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(250) }), await temporaryFolder()];
    const options = { stateDir: join(folder, 'state') };
    const since = await stoppedTwoDaysAgo(from, dated(), folder, options);
    const report = await runPipeline(await pipelineFor(from, dated(), folder), options);
    expect(report).toMatchObject({ since, sinks: [{ path: join(folder, 'out', `${since.slice(0, 10)}.csv`) }, {}] });
    expect((await readdir(join(folder, 't'))).filter((name) => name.includes('='))).toEqual([`run_date=${since.slice(0, 10)}`]);
    expect((await runPipeline(await pipelineFor(from, dated(), folder), options)).sinks[0]?.path).toBe(
      join(folder, 'out', `${today()}.csv`),
    );
  });

  test('are the day that expressions know too, whose clock is the first start of the run', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(250) }), await temporaryFolder()];
    const options = { stateDir: join(folder, 'state') };
    const clock = dated('steps:\n  - derive: { at: now(), day: run_date(), week: days_before(7), month: month(now()) }\n');
    const body = clock.replace("'out/{{ run.date }}.csv'", 'out/clock.csv, columns: [at, day, week, month]');
    const since = await stoppedTwoDaysAgo(from, body, folder, options);
    await runPipeline(await pipelineFor(from, body, folder), options);
    const day = since.slice(0, 10);
    const week = new Date(Date.parse(day) - 7 * 86_400_000).toISOString().slice(0, 10);
    const [, ...rows] = (await readFile(join(folder, 'out', 'clock.csv'), 'utf8')).trimEnd().split('\n');
    expect(rows).toHaveLength(250);
    expect(new Set(rows)).toEqual(new Set([`${since},${day},${week},${day.slice(0, 7)}`]));
  });

  const joined = dated('steps:\n  - join: { with: bridges, on: { bridge_id: id }, as: b, select: [title] }\n');

  test.each([
    ['that spooled the same collection', dated()],
    ['that spooled the other side of a join', dated().replace('from: leads', 'from: bridges')],
  ])('do not bear the day of another pipeline %s', async (_what, other) => {
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

  test('bear the day of the run where the pages of the interrupted one are of no use, because the list has changed', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(250) }), await temporaryFolder()];
    const options = { stateDir: join(folder, 'state') };
    const since = await stoppedTwoDaysAgo(from, dated(), folder, options);
    const [spool = ''] = (await readdir(join(folder, 'state', 'spool'))).filter((name) => name.startsWith('leads-'));
    const page = Buffer.from('[{"lead_id":"of another list"}]');
    await writeFile(join(folder, 'state', 'spool', spool, 'pages.log'), Buffer.concat([headerOf(1, page), page]));
    const report = await runPipeline(await pipelineFor(from, dated(), folder), options);
    expect(report.warnings.map(({ code }) => code)).toContain('W_SPOOL_STALE');
    expect(report.sinks[0]?.path).toBe(join(folder, 'out', `${today()}.csv`));
    expect(await readdir(join(folder, 'out'))).not.toContain(`${since.slice(0, 10)}.csv`);
  });

  test.each<[string, string, RunOptions]>([
    ['that was told to start over', dated(), { restart: true }],
    ['that spools nothing', dated('', 'off'), {}],
    ['that finds pages which are too old', dated('', '{ max_age: 6h }'), {}],
  ])('bear the day of a run %s', async (_what, body, more) => {
    const [from, folder] = [await serviceOf({ leads: leads(250) }), await temporaryFolder()];
    const options = { stateDir: join(folder, 'state') };
    await stoppedTwoDaysAgo(from, dated(), folder, options);
    const report = await runPipeline(await pipelineFor(from, body, folder), { ...options, ...more });
    expect(report.sinks[0]?.path).toBe(join(folder, 'out', `${today()}.csv`));
  });

  test('complete what a killed run of another day had decided, and do not take its day', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(250) }), await temporaryFolder()];
    const options = { stateDir: join(folder, 'state') };
    const since = await stoppedTwoDaysAgo(from, dated(), folder, options);
    const [spent = ''] = (await readdir(join(folder, 'state', 'spool'))).filter((name) => name.startsWith('leads-'));
    const earlier = join(folder, 'out', `${since.slice(0, 10)}.csv`);
    await mkdir(join(folder, 'out'));
    const file = await storeOf([earlier]).reserve(earlier, 'killed');
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

describe('paths in code and of the command line', () => {
  test.each([csv, ndjson, parquet])('are refused in the same way', async (sink) => {
    for (const path of ['s3://bucket/x', 'x-{{ run.day }}', '{{ run.date }}/../x', 'x\uD800', 'x\0'])
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

  test('are refused for what is on this machine', async () => {
    const [from, cwd] = [await serviceOf({ leads: leads(3) }), await workplace(to('x.csv'))];
    for (const flag of ['--state-dir', '--report', '--metrics']) {
      for (const path of ['s3://bucket/x.prom', 'x-{{ run.date }}.prom']) {
        const { code, stderr } = await cli(['run', 'p.yaml', flag, path], { cwd, env: from.env });
        const problem = path.startsWith('s3:') ? `'s3:' is a scheme, but ${flag} takes a path on this machine` : 'only outputs and rejects';
        expect([code, stderr]).toEqual([2, expect.stringContaining(`${flag} ${path}: ${problem}`)]);
      }
    }
    for (const verb of ['runs', 'verify', 'rollback']) {
      const { code, stderr } = await cli([verb, 's3://bucket/t'], { cwd });
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining("DIR s3://bucket/t: 's3:' is a scheme, but tables are files on this machine"),
      ]);
    }
    expect(from.requests).toEqual([]);
    expect(await visible(cwd)).toEqual(['p.yaml']);
  });

  test('are refused for the state folder in code', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(3) }), await temporaryFolder()];
    await expect(runIn(from, to('x.csv'), folder, { stateDir: 's3://bucket/x' })).rejects.toMatchObject({ code: 'E_USAGE' });
    await expect(recoverRuns('s3://bucket/x')).rejects.toMatchObject({ code: 'E_USAGE' });
    await expect(rollbackTable('t', { stateDir: 's3://bucket/x' })).rejects.toMatchObject({ code: 'E_USAGE' });
    await expect(rollbackTable('s3://bucket/t')).rejects.toMatchObject({ code: 'E_USAGE' });
    expect(from.requests).toEqual([]);
  });
});
