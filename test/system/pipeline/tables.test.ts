import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { runPipeline, summaryOf } from '../../../src/pipeline/index.js';
import { tableRuns, verifyTable } from '../../../src/lake/index.js';
import { duckdb } from '../../support/duckdb.js';
import { serviceOf } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';
import { lead, leads, pipelineFor } from '../../support/pipelines.js';

describe('mode: append in a pipeline', () => {
  const body = 'from: leads\nto:\n  - parquet: { path: t, mode: append }';

  test('adds new rows night after night, and its books balance with those it left', async () => {
    const folder = await temporaryFolder();
    await runPipeline(await pipelineFor(await serviceOf({ leads: leads(120) }), body, folder));
    const changed = leads(150, (index) => (index < 3 ? { lead_status: 'returned' } : {}));
    const report = await runPipeline(await pipelineFor(await serviceOf({ leads: changed }), body, folder));
    expect(report.sinks).toMatchObject([{ changed: 3, total: 150, books: { read: 150, written: 30, unchanged: 120 } }]);
    expect(await duckdb(`select lead_status, count(*)::int as rows from '${folder}/t/*.parquet' group by all`)).toEqual([
      { lead_status: 'sold', rows: 150 },
    ]);
  });

  test('is refused while the file is checked when the key does not reach the sink', async () => {
    const from = await serviceOf({ leads: [] });
    const masked = 'from: leads\nsteps:\n  - mask: { lead_id: redact }\nto:\n  - parquet: { path: t, mode: append }';
    await expect(pipelineFor(from, masked, '/nowhere')).rejects.toThrow(
      /p\.yaml:11:\d+ append needs the key lead_id, but lead_id does not reach the sink/,
    );
  });
});

describe('columns that a sink names', () => {
  test.each([
    ['columns: [lead_idd]', "unknown column 'lead_idd', did you mean 'lead_id'?"],
    ['partition_by: [monht]', "unknown column 'monht'"],
    ['sort_by: [timestmp desc]', "unknown column 'timestmp', did you mean 'timestamp'?"],
    ['sort_by: [age], partition_by: [age]', "unknown column 'age'"],
    ['mode: append, key: [uuid]', "unknown column 'uuid', did you mean 'uid'?"],
    ['mode: replace_partitions', 'replace_partitions needs partition_by'],
    ['columns: [lead_id, uid, lead_id]', "p.yaml:9:49 'lead_id' is listed twice; list it once"],
    ['partition_by: [uid, uid]', "p.yaml:9:45 'uid' is listed twice"],
    ['sort_by: [uid, uid desc]', "p.yaml:9:40 'uid' is listed twice"],
    ['mode: append, key: [uid, uid]', "p.yaml:9:50 'uid' is listed twice"],
    ['keep: many', 'expected number'],
  ])('are checked with the file: %s', async (options, message) => {
    const from = await serviceOf({ leads: [] });
    await expect(pipelineFor(from, `from: leads\nto:\n  - parquet: { path: t, ${options} }`, '/nowhere')).rejects.toThrow(message);
  });

  test('and how many runs stay are read from a file', async () => {
    const folder = await temporaryFolder();
    const from = await serviceOf({ leads: [lead(7)] });
    const body = `from: leads\nto:\n  - parquet: { path: t, keep: 2 }`;
    for (let night = 0; night < 4; night += 1)
      await runPipeline(await pipelineFor(from, body, folder), { stateDir: join(folder, 'state') });
    expect((await tableRuns(join(folder, 't'))).map(({ state }) => state)).toEqual(['published', 'kept', 'kept']);
  });

  test('let one run feed a wide and a narrow destination', async () => {
    const folder = await temporaryFolder();
    const body = 'from: leads\nto:\n  - parquet: { path: wide }\n  - csv: { path: narrow.csv, columns: [lead_status, lead_id] }';
    await runPipeline(await pipelineFor(await serviceOf({ leads: [lead(7)] }), body, folder));
    expect(await readFile(join(folder, 'narrow.csv'), 'utf8')).toBe('lead_status,lead_id\nsold,7\n');
    expect(await duckdb(`select count(*)::int as columns from (describe select * from '${folder}/wide/*.parquet')`)).toEqual([
      { columns: 33 },
    ]);
  });
});

test('{{ run.date }} is the day on which a resumed run was first started', async () => {
  const folder = await temporaryFolder();
  const options = { stateDir: join(folder, 'state') };
  const body = "from: leads\nconsistency: off\nspool: { max_age: 72h }\nto:\n  - parquet: { path: t, partition_by: ['{{ run.date }}'] }";
  const from = await serviceOf({ leads: leads(250) });
  const stop = new AbortController();
  const stopped = runPipeline(await pipelineFor(from, body, folder), {
    ...options,
    signal: stop.signal,
    watch: { page: () => stop.abort() },
  });
  await expect(stopped).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });

  const spool = join(options.stateDir, 'spool');
  const [source = ''] = (await readdir(spool)).filter((name) => name.startsWith('leads-'));
  const marker = join(spool, source, 'started.json');
  const started = JSON.parse(await readFile(marker, 'utf8')) as { startedAt: string };
  const since = new Date(Date.parse(started.startedAt) - 2 * 86_400_000).toISOString();
  await writeFile(marker, JSON.stringify({ ...started, startedAt: since }));
  const begun = join(options.stateDir, 'begun', 'test.json');
  const note = JSON.parse(await readFile(begun, 'utf8')) as object;
  await writeFile(begun, JSON.stringify({ ...note, startedAt: since, spoolSince: since }));

  const report = await runPipeline(await pipelineFor(from, body, folder), options);
  expect(report.resumed).toBeGreaterThan(0);
  expect(report.since).toBe(since);
  expect(summaryOf(report)).toContain(`by an interrupted run, since ${since}`);
  expect((await readdir(join(folder, 't'))).filter((name) => name.includes('='))).toEqual([`run_date=${since.slice(0, 10)}`]);
  expect((await verifyTable(join(folder, 't'))).differences).toEqual([]);
});

test('a run that a gate refused leaves no pages behind, so that the next one sees what was repaired', async () => {
  const folder = await temporaryFolder();
  const options = { stateDir: join(folder, 'state') };
  const from = await serviceOf({ leads: leads(250) });
  const refused = await pipelineFor(from, 'from: leads\nexpect: { min_rows: 1000 }\nto:\n  - parquet: { path: t }', folder);
  await expect(runPipeline(refused, options)).rejects.toMatchObject({ code: 'E_GATE_EXPECT' });
  expect((await readdir(join(options.stateDir, 'spool'))).filter((name) => name.startsWith('leads-'))).toEqual([]);
});

test.each([
  ['E_STEP_OVERFLOW', "steps:\n  - aggregate: { compute: { s: 'sum(int(zipcode))' } }"],
  ['E_SINK_KEY', 'steps:\n  - select: [lead_id, email]', 'mode: append, key: [email]'],
  ['E_STEP_CONDITION', 'steps:\n  - filter: { where: "lead_id != \'7\'", otherwise: fail }'],
  ['E_STEP_VALUE', 'on_error: fail\nsteps:\n  - cast: { types: { email: integer } }'],
  ['E_STEP_EXPRESSION', "on_error: fail\nsteps:\n  - derive: { n: 'int(email)' }"],
])(
  'a run that a row has failed (%s) leaves no pages behind, since the row may be right by the next one',
  async (code, steps, mode = 'mode: replace') => {
    const folder = await temporaryFolder();
    const options = { stateDir: join(folder, 'state') };
    const from = await serviceOf({ leads: leads(250, () => ({ email: 'x', zipcode: '9223372036854775807' })) });
    const failing = await pipelineFor(from, `from: leads\n${steps}\nto:\n  - parquet: { path: t, ${mode} }`, folder);
    await expect(runPipeline(failing, options)).rejects.toMatchObject({ code });
    expect((await readdir(join(options.stateDir, 'spool'))).filter((name) => name.startsWith('leads-'))).toEqual([]);
  },
);
