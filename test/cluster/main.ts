/**
 * Runs every recipe of examples/cluster with its engine, against the data service, and compares the table with that of `leadstream run` by
 * DuckDB. A second round of Spark kills a worker and its executors in the middle of a shard, with speculation. Prints a line for each.
 *
 * `npm run cluster`, or `npm run cluster -- VENV [ENGINE]` with a virtual environment that has requirements.txt; exits with 1 when one failed. Python
 * is needed, and Java 17 for Spark; an engine whose program is missing is skipped, and said to be. What all of them said is in out/cluster.log.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { generate, startService } from '../../src/service/index.js';
import { start } from '../support/cli.js';
import { freePorts } from '../support/seaweedfs.js';

const leads = 100_000;
const examples = join(import.meta.dirname, '../../examples/cluster');
const base = await mkdtemp(join(tmpdir(), 'leadstream-cluster-'));
const log = join(base, 'log');
const key = 'key-of-the-cluster';
const bin = join(base, 'bin');
const pipeline = `name: leads
service: { limit: 500, end_wait: 0s }
from: leads
steps:
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }
  - cast: { types: { age: integer } }
to:
  - parquet: { path: lake/leads, partition_by: [lead_status] }
`;

/** Packages as they were on a day, since Airflow's own do not name all versions that go together. */
async function environment(): Promise<string> {
  if (process.argv[2] !== undefined) return join(process.argv[2], 'bin');
  const pip = join(base, 'venv/bin/pip');
  execFileSync('python3', ['-m', 'venv', join(base, 'venv')]);
  execFileSync(pip, ['install', '--quiet', 'pip==26.3']);
  const day = ['--uploaded-prior-to', '2026-11-01T00:00:00Z'];
  execFileSync(pip, ['install', '--quiet', ...day, '--requirement', join(import.meta.dirname, 'requirements.txt')]);
  return join(base, 'venv/bin');
}

/** Runs a program to its end. @returns What it printed on stdout. @throws Unless it ended with 0; the log has all it said. */
async function run(cwd: string, program: string, words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { code, stdout, stderr } = await start(program, words, { cwd, env: { PATH: path, ...env } }).finished;
  appendFileSync(log, `\n${program} ${words.join(' ')}: ${code}\n${stdout}${stderr}`);
  if (code !== 0) throw new Error(`${program} ended with ${code}:\n${`${stdout}${stderr}`.slice(-2000)}`);
  return stdout;
}

/** A folder with the pipeline file, which the machines of an engine share. */
async function shared(name: string): Promise<string> {
  const folder = join(base, name);
  await mkdir(folder);
  await writeFile(join(folder, 'leads.yaml'), pipeline);
  return folder;
}

/** Returns the files of a table as DuckDB reads them. */
async function filesOf(folder: string): Promise<string> {
  const files = (await run(folder, 'leadstream', ['files', 'lake/leads'])).trim().split('\n');
  return `read_parquet([${files.map((file) => `'${file}'`).join()}], union_by_name = true, hive_partitioning = true)`;
}

/** Expects the table in a folder to have the rows that one process wrote. */
async function compare(folder: string): Promise<void> {
  const [one, other] = [await filesOf(join(base, 'alone')), await filesOf(folder)];
  const sql = `SET enable_progress_bar = false; SELECT (SELECT count(*) FROM ${other}), (SELECT count(*) FROM (FROM ${one} EXCEPT ALL FROM ${other})),
    (SELECT count(*) FROM (FROM ${other} EXCEPT ALL FROM ${one}))`;
  const found = await run(base, 'python', ['-c', 'import duckdb, sys; print(*duckdb.execute(sys.argv[1]).fetchone())', sql]);
  if (found.trim() !== `${leads} 0 0`) throw new Error(`rows, missing ones and others: ${found.trim()} instead of ${leads} 0 0`);
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly text: string;
}

function processes(): readonly Process[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).trim().split('\n');
  return lines.map((line) => {
    const [pid = '', parent = '', ...words] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), text: words.join(' ') };
  });
}

function below(pid: number, all = processes()): readonly Process[] {
  return all.filter(({ parent }) => parent === pid).flatMap((child) => [child, ...below(child.pid, all)]);
}

/** Starts a master and two workers, without the start scripts that the wheel lacks, and runs the recipe. */
async function spark(folder: string, more: readonly string[], set: readonly string[], during?: (worker: number) => Promise<void>) {
  const [port = 0] = await freePorts(1);
  const master = `spark://127.0.0.1:${port}`;
  const env = { SPARK_LOCAL_IP: '127.0.0.1', PYSPARK_PYTHON: join(binaries, 'python'), SPARK_WORKER_DIR: join(folder, 'workers') };
  // Spark starts no second attempt on the host of the first.
  const daemon = (host: string, name: string, words: readonly string[]) =>
    spawn('spark-class', [`org.apache.spark.deploy.${name}`, '--host', host, '--webui-port', '0', ...words], {
      ...{ cwd: folder, stdio: 'ignore', env: { ...process.env, ...env, SPARK_LOCAL_IP: host, PATH: path } },
    });
  const daemons = [
    daemon('127.0.0.1', 'master.Master', ['--port', String(port)]),
    ...['127.0.0.2', '127.0.0.3'].map((host) => daemon(host, 'worker.Worker', ['--cores', '3', '--memory', '1g', master])),
  ];
  try {
    const confs = ['spark.executor.memory=512m', 'spark.ui.enabled=false', ...more].flatMap((conf) => ['--conf', conf]);
    const recipe = join(examples, 'leadstream_spark.py');
    const ours = ['leads.yaml', '--work', 'work', '--shards', '8', '--parallel', '4', '--env', join(base, 'leadstream.env'), ...set];
    await Promise.all([run(folder, 'spark-submit', ['--master', master, ...confs, recipe, ...ours], env), during?.(daemons[2]?.pid ?? 0)]);
  } finally {
    const pids = daemons.flatMap(({ pid }) => (pid === undefined ? [] : [...below(pid).map((each) => each.pid), pid]));
    spawnSync('kill', ['-9', ...pids.map(String)]);
  }
}

/** Kills a worker and its executors when they have shards in work. Python and leadstream are left, as on a machine that stays up. */
async function killed(worker: number): Promise<void> {
  const shardsOf = (all: readonly Process[]) => all.flatMap(({ text }) => / shard \S+ \S+ (\d+) /.exec(text)?.[1] ?? []);
  for (let tries = 0; tries < 600 && shardsOf(below(worker)).length === 0; tries += 1) await wait(200);
  await wait(7000);
  const [dying, all] = [shardsOf(below(worker)), shardsOf(below(process.pid))];
  const java = [worker, ...below(worker).flatMap(({ pid, text }) => (text.includes('CoarseGrainedExecutorBackend') ? [pid] : []))];
  for (const pid of java) process.kill(pid, 'SIGKILL');
  if (dying.length === 0) throw new Error('the worker had no shard when it was killed');
  const copies = all.length - new Set(all).size;
  console.log(
    `  killed a worker and ${java.length - 1} executor in shards ${dying.join()}; ${copies} of the ${all.length} attempts were speculative`,
  );
}

async function airflow(folder: string): Promise<void> {
  const values = { FILE: `"${folder}/leads.yaml"`, WORK: `"${folder}/work"`, OPTIONS: `["--env", "${base}/leadstream.env"]` };
  let recipe = await readFile(join(examples, 'leadstream_airflow.py'), 'utf8');
  for (const [name, value] of Object.entries(values))
    recipe = recipe.replace(new RegExp(`^${name} = .*$`, 'm'), () => `${name} = ${value}`);
  await mkdir(join(folder, 'dags'));
  await writeFile(join(folder, 'dags/leadstream_airflow.py'), recipe);
  const env = {
    AIRFLOW_HOME: join(folder, 'airflow'),
    AIRFLOW__CORE__DAGS_FOLDER: join(folder, 'dags'),
    AIRFLOW__CORE__LOAD_EXAMPLES: 'False',
  };
  await run(folder, 'airflow', ['db', 'migrate'], env);
  await run(folder, 'airflow', ['dags', 'test', 'leadstream_cluster'], env);
}

const chaos = ['speculation=true', 'speculation.task.duration.threshold=2s', 'speculation.interval=500ms'].map((conf) => `spark.${conf}`);
/** What each needs, and how it runs. */
const engines: readonly (readonly [string, readonly string[], (folder: string) => Promise<unknown>])[] = [
  ['xargs', ['xargs'], (folder) => run(folder, 'sh', [join(examples, 'leadstream-xargs.sh'), 'leads.yaml'], secrets)],
  ['spark', ['java', 'spark-submit'], (folder) => spark(folder, ['spark.speculation=false'], [])],
  ['spark, a worker killed', ['java', 'spark-submit'], (folder) => spark(folder, chaos, ['--set', 'service.rate_limit=8/s'], killed)],
  ['airflow', ['airflow'], airflow],
];

const binaries = await environment();
const path = [bin, binaries, process.env['PATH']].join(':');
const service = await startService({ source: generate({ leads, seed: 7 }), accounts: [{ restApiKey: key }] });
const secrets = { LEADSTREAM_BASE_URL: service.url, LEADSTREAM_REST_API_KEY: key };
let faults = 0;
const attempt = async (name: string, act: () => Promise<unknown>, check?: () => Promise<void>) => {
  const began = Date.now();
  try {
    await act();
    const seconds = ((Date.now() - began) / 1000).toFixed(1);
    await check?.();
    console.log(`${name}: ${seconds} s${check ? `, ${leads} rows exact` : ''}`);
  } catch (failure) {
    faults += 1;
    console.log(`${name}: FAILED: ${failure instanceof Error ? failure.message : String(failure)}`);
  }
};
try {
  await mkdir(bin);
  await writeFile(join(bin, 'leadstream'), `#!/bin/sh\nexec '${process.execPath}' '${join(examples, '../../dist/cli/main.cjs')}' "$@"\n`);
  await chmod(join(bin, 'leadstream'), 0o755);
  const settings = Object.entries(secrets).map(([name, value]) => `${name}='${value}'\n`);
  await writeFile(join(base, 'leadstream.env'), settings.join(''), { mode: 0o600 });
  await attempt('run, one process', async () => run(await shared('alone'), 'leadstream', ['run', 'leads.yaml'], secrets));
  for (const [name, programs, act] of engines.filter(([each]) => each.includes(process.argv[3] ?? ''))) {
    const missing = programs.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH: path } }).status !== 0);
    if (missing.length > 0) console.log(`${name}: SKIPPED, ${missing.join(' and ')} is not installed`);
    const folder = await shared(name.replaceAll(/\W+/g, '-'));
    const check = () => compare(folder);
    if (missing.length === 0) await attempt(name, () => act(folder), check);
  }
  await attempt('kubernetes, the file', () => run(base, 'kubernetes-validate', ['--strict', join(examples, 'leadstream-kubernetes.yaml')]));
} finally {
  await service.close();
  await mkdir('out', { recursive: true });
  await cp(log, join('out', 'cluster.log'));
  await rm(base, { recursive: true, force: true });
}
process.exitCode = faults > 0 ? 1 : 0;
