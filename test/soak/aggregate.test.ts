import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openDirectory, type DataSource } from '../../src/service/index.js';
import { aggregateStep, differencesIn, expectedIn, leadsFor } from '../support/aggregate-oracle.js';
import { startCli } from '../support/cli.js';
import { duckdb } from '../support/duckdb.js';
import { runIn } from '../support/pipelines.js';
import { pipelineText, service } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';
import { until } from '../support/until.js';

const count = 20_003;
let folder: string;
let leads: string;
let source: DataSource;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadstream-aggregate-'));
  leads = join(folder, 'leads.ndjson');
  await duckdb(leadsFor(count, leads));
  source = await openDirectory(folder);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const bodyOf = (by: readonly string[], memory: string) =>
  `from: leads\nsteps: ${JSON.stringify([aggregateStep(by, memory)])}\nto:\n  - parquet: { path: lake/groups }`;

describe('leads of every type, aggregated', () => {
  test.each([
    ['campaign_id, campaign_name', '32MB'],
    ['yearmonthday', '32MB'],
    ['lead_accepted, age', '32MB'],
    ['timestamp, campaign_name, age', '32MB'],
    ['email', '32MB'],
    ['lead_id', '32MB'],
    ['', '256MB'],
    ['', '32MB'],
  ])('by (%s) within %s are what DuckDB computes', async (fields, memory) => {
    const by = fields === '' ? [] : fields.split(', ');
    const cwd = await temporaryFolder();
    await runIn(await service(source), bodyOf(by, memory), cwd, { set: { 'service.limit': '500' } });
    await duckdb(expectedIn(leads, by));
    const [found] = await duckdb(differencesIn(join(cwd, 'lake', 'groups'), by));
    expect(found?.differences).toBe(0);
    expect(found?.groups).toBeGreaterThan(0);
  });
});

/** What is published; nothing before the first run that came to its end. */
async function published(cwd: string): Promise<readonly Buffer[]> {
  const table = await realpath(join(cwd, 'lake', 'groups')).catch(() => undefined);
  if (table === undefined) return [];
  return Promise.all((await readdir(table)).toSorted().map((name) => readFile(join(table, name))));
}

test('a run that is killed while it aggregates publishes nothing, and the next one is right and leaves no spilled rows', async () => {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'p.yaml'), pipelineText(bodyOf(['email', 'age'], '32MB')));
  const parameters = ['run', 'p.yaml', '--set', 'service.limit=500'];
  const from = await service(source);
  const all = Math.ceil(count / 500);
  const spills = () => readdir(join(cwd, '.leadstream', 'scratch')).catch(() => []);
  let spilled = 0;
  const moments = [0.5, 0.9, 1, 1].map((part, index) => ({ requests: part * all, ms: index < 3 ? 0 : 200 }));
  for (const { requests, ms } of moments) {
    from.requests.length = 0;
    const { process: child, finished } = startCli([...parameters, '--restart'], { cwd, env: from.env });
    await until(() => child.exitCode !== null || from.requests.length >= requests);
    await setTimeout(ms);
    child.kill('SIGKILL');
    await finished;
    if (child.exitCode !== null) throw new Error('the run ended before it was killed');
    expect(await published(cwd)).toEqual([]);
    spilled += (await spills()).length;
  }
  expect(spilled).toBeGreaterThan(1);
  const { code, stderr } = await startCli(parameters, { cwd, env: from.env }).finished;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(await spills()).toEqual([]);
  await duckdb(expectedIn(leads, ['email', 'age']));
  expect(await duckdb(differencesIn(join(cwd, 'lake', 'groups'), ['email', 'age']))).toMatchObject([{ differences: 0 }]);
});
