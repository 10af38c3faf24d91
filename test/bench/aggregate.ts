/**
 * Measures the time and memory of `aggregate` over leads in every type, and compares its results with DuckDB:
 *
 *   npm run bench:aggregate        # 3,000,000 leads; LEADSTREAM_LEADS sets another number
 *
 * The leads are served and read by the built command. Prints a table in Markdown; fails if a group differs.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { pathToFileURL } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { aggregateStep, differencesIn, expectedIn, leadsFor } from '../support/aggregate-oracle.js';
import { openWorkshop, output } from './children.js';

const count = Number(process.env.LEADSTREAM_LEADS ?? 3_000_000);
const env = { ...process.env, LEADSTREAM_REST_API_KEY: 'bench-key-0123456789' };
const command = resolve('dist/cli/main.cjs');
const cases: readonly { readonly by: readonly string[]; readonly memory: string }[] = [
  { by: ['campaign_id', 'campaign_name'], memory: '256MB' },
  { by: ['campaign_id', 'campaign_name'], memory: '32MB' },
  { by: [], memory: '256MB' },
  { by: [], memory: '32MB' },
  { by: ['email', 'age'], memory: '64MB' },
  { by: ['email', 'age'], memory: '1GB' },
];

const folder = await mkdtemp(join(tmpdir(), 'leadstream-aggregate-'));
const workshop = await openWorkshop();
const instance = await DuckDBInstance.create(':memory:');
const duck = await instance.connect();
await duck.run("set global timezone = 'UTC'");
const file = join(folder, 'data', 'leads.ndjson');
await mkdir(join(folder, 'data'));
await duck.run(leadsFor(count, file));

const served = spawn(process.execPath, [command, 'serve', '--data', join(folder, 'data'), '--port', '0', '--quiet'], {
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const [url] = await once(createInterface(served.stdout), 'line');
  console.log('| by | memory | groups | seconds | CPU seconds | peak memory | differences |');
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  const plain = await run(String(url), [], 'plain');
  console.log(`| (no step) | | | ${plain} | |`);
  for (const { by, memory } of cases) {
    const measured = await run(String(url), [aggregateStep(by, memory)], 'groups');
    await duck.run(expectedIn(file, by));
    const [found] = (await duck.runAndReadAll(differencesIn(join(folder, 'groups'), by))).getRowObjectsJson();
    console.log(`| ${by.join(', ')} | ${memory} | ${Number(found?.groups)} | ${measured} | ${Number(found?.differences)} |`);
    if (found?.differences !== 0) process.exitCode = 1;
  }
} finally {
  served.kill();
  duck.closeSync();
  instance.closeSync();
  await workshop.close();
  await rm(folder, { recursive: true, force: true });
}

/** Runs a pipeline with the command. @returns Its measurements, as cells of the table. */
async function run(url: string, steps: readonly object[], table: string): Promise<string> {
  const pipeline = join(folder, 'pipeline.yaml');
  const usage = join(folder, 'usage.json');
  const service = { base_url: url, auth: { rest_api_key: '${LEADSTREAM_REST_API_KEY}' }, limit: 500 };
  const to = [{ parquet: { path: join(folder, table), keep: 0 } }];
  await writeFile(pipeline, JSON.stringify({ name: 'bench', service, from: 'leads', steps, spool: 'off', consistency: 'off', to }));
  const start = performance.now();
  await output(['--import', pathToFileURL(workshop.meter).href, command, 'run', pipeline, '--quiet'], {
    cwd: folder,
    env: { ...env, LEADSTREAM_BENCH_USAGE: usage },
  });
  const seconds = (performance.now() - start) / 1000;
  const { cpuSeconds, peakRss } = JSON.parse(await readFile(usage, 'utf8')) as { cpuSeconds: number; peakRss: number };
  return `${seconds.toFixed(1)} | ${cpuSeconds.toFixed(1)} | ${Math.round(peakRss / 1e6)} MB`;
}
