import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { pathToFileURL } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { openWorkshop, output } from './children.js';

/**
 * Measures the time and memory of `aggregate` over leads in every type, and compares its results with DuckDB:
 *
 *   npm run bench:aggregate        # 3,000,000 leads; LEADSTREAM_LEADS sets another number
 *
 * The leads are served and read by the built command. Prints a table in Markdown; fails if a group differs.
 */

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

/** Leads made by DuckDB and its results for them: the oracle for `aggregate`. */

/** The results to compute, in every type: call and SQL by name. */
const results: Readonly<Record<string, readonly [call: string, sql: string]>> = {
  leads: ['count()', 'count(*)'],
  sold: ["count(lead_status == 'sold')", "count(*) filter (lead_status = 'sold')"],
  emails: ['count_distinct(email)', 'count(distinct email)'],
  ages: ['count_distinct(age)', 'count(distinct age)'],
  total: ['sum(age)', 'sum(age)'],
  youngest: ['min(age)', 'min(age)'],
  mean: ['avg(age)', 'avg(age)'],
  points: ['sum(num(aff_sub))', 'fsum(points)'],
  average: ['avg(num(aff_sub))', 'favg(points)'],
  best: ['max(num(aff_sub))', 'max(points)'],
  first: ['min(timestamp)', 'min(timestamp)'],
  last: ['max(timestamp)', 'max(timestamp)'],
  day: ['max(yearmonthday)', 'max(yearmonthday)'],
  word: ['min(campaign_name)', 'min(campaign_name)'],
  other: ['max(campaign_name)', 'max(campaign_name)'],
  flagged: ['max(flag(lead_accepted))', 'max(lead_accepted)'],
};

/** Results that DuckDB rounds more than once. */
const rounded: readonly string[] = ['mean', 'points', 'average'];

/** Returns the step as written in a pipeline file. */
function aggregateStep(by: readonly string[], memory: string): object {
  return { aggregate: { by, memory, compute: Object.fromEntries(Object.entries(results).map(([name, [call]]) => [name, call])) } };
}

/**
 * Returns the statement that writes leads as the service sends them, one JSON object per line: with ties, empty values and Unicode in every type, in
 * a meaningless order.
 *
 * @param count Number of leads; there are about a third as many e-mail addresses.
 */
function leadsFor(count: number, file: string): string {
  const picked = (texts: readonly string[], at: string) => `[${texts.map((text) => `'${text}'`).join()}][1 + ${at} % ${texts.length}]`;
  return `copy (select
    i::varchar as lead_id,
    (h % 97)::varchar as campaign_id,
    ${picked(['', 'Zoë', 'Ａ', '😀', 'a', 'B', 'é', 'ab', '\ue000', 'ß'], '(h // 97)')} as campaign_name,
    if(h % 11 = 0, '', 'm' || (h % ${Math.ceil(count / 3)}) || '@é.example') as email,
    if(h % 13 = 0, '', if(h % 1009 = 0, ((9007199254740993 + h % 5) * (1 - 2 * (h // 1009 % 2)))::varchar, (h % 101 - 7)::varchar)) as age,
    if(h % 5 = 0, '', strftime(date '1969-06-01' + (h % 20000)::integer, '%Y%m%d')) as yearmonthday,
    if(h % 7 = 0, '', (h % 2000000000 - 100000)::varchar) as timestamp,
    ${picked(['yes', 'No', '', '1', 'FALSE'], 'h')} as "LEAD ACCEPTED",
    ${picked(['sold', 'open', 'new'], '(h // 5)')} as lead_status,
    if(h % 19 = 0, '', (((h % 1000003) - 500000) / 7.0)::double::varchar) as aff_sub
  from (select i, (hash(i) % 4000000007)::bigint as h from range(${count}) leads(i))) to '${file}' (format json)`;
}

/** Returns the statement that stores DuckDB's groups and results in a table `expected`, in the order of the groups. */
function expectedIn(file: string, by: readonly string[]): string {
  const typed = `select lead_id, campaign_id, campaign_name, email, lead_status, nullif(age, '')::bigint as age,
    strptime(nullif(yearmonthday, ''), '%Y%m%d')::date as yearmonthday, to_timestamp(nullif(timestamp, '')::bigint) as timestamp,
    nullif("LEAD ACCEPTED", '')::boolean as lead_accepted, nullif(aff_sub, '')::double as points
    from read_json('${file}', format = 'newline_delimited', columns = {${columns.map((name) => `'${name}': 'VARCHAR'`).join()}})`;
  const computed = Object.entries(results).map(([name, [, sql]]) => `${sql} as "${name}"`);
  const group = by.length === 0 ? '' : `group by ${by.join()} order by ${by.map((field) => `${field} nulls last`).join()}`;
  return `create or replace table expected as select ${[...by, ...computed].join()} from (${typed}) ${group}`;
}

const columns = [
  'lead_id',
  'campaign_id',
  'campaign_name',
  'email',
  'age',
  'yearmonthday',
  'timestamp',
  'LEAD ACCEPTED',
  'lead_status',
  'aff_sub',
];

/** Counts the rows of a table of files that differ from `expected`, compared by position; rounded results are equal within a relative 1e-12. */
function differencesIn(table: string, by: readonly string[]): string {
  const names = [...by, ...Object.keys(results)];
  const same = names.map((name) =>
    rounded.includes(name)
      ? `(e."${name}" is not distinct from g."${name}" or abs(e."${name}" - g."${name}") <= 1e-12 * abs(e."${name}"))`
      : `e."${name}" is not distinct from g."${name}"`,
  );
  return `select count(*)::integer as differences, (select count(*) from expected)::integer as groups
    from (select *, row_number() over () as place from expected) e
    full join (select *, row_number() over () as place from read_parquet('${table}/*.parquet')) g using (place)
    where not coalesce(${same.join(' and ')}, false)`;
}
