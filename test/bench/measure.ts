import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { key, pipelineText, type Case, type Section, type Work } from './cases.js';
import { output, type PageServer, type Workshop } from './children.js';
import { enrichment, type Dataset } from './data.js';
import type { Usage } from './meter.js';
import type { Job, Outcome } from './runner.js';

const concurrency = 4;

/** One run of one case. */
export interface Measurement {
  readonly rowsPerSecond: number;
  /** Seconds per million rows. */
  readonly cpu: number;
  readonly serverCpu: number;
  /** Bytes. */
  readonly peakRss: number;
  readonly workers: number;
  /** Bytes of the output. */
  readonly bytes: number;
}

/** What all runs of a section share. */
export interface Surroundings {
  readonly workshop: Workshop;
  readonly server: PageServer;
  readonly data: Dataset;
  readonly zips: string;
  readonly section: Section;
}

/** DuckDB's counts of rows with a bridge and rows with an area code in an output; absent without joins. */
export type Matches = { readonly bridges: number; readonly areas: number } | undefined;

/**
 * Runs a case once, in a separate process and folder.
 *
 * @param check Whether to read and count the output with DuckDB afterwards.
 */
export async function measure(
  which: Case,
  around: Surroundings,
  check: boolean,
): Promise<{ readonly measurement: Measurement; readonly matches: Matches }> {
  const { server, section } = around;
  const folder = await mkdtemp(join(around.workshop.folder, 'case-'));
  try {
    const { variant } = which;
    if (variant) await writeFile(join(folder, 'pipeline.yaml'), pipelineText(variant, { ...section, concurrency, baseUrl: server.url }));
    const before = await server.cpuSeconds();
    const outcome = await (which.work === 'cli' ? runCommand(folder, around) : runJob(which.work, folder, around));
    const serverSeconds = (await server.cpuSeconds()) - before;
    if (outcome.rows !== section.rows) throw new Error(`${which.id} took ${outcome.rows} rows of ${section.rows}`);
    const written = which.output === undefined ? undefined : join(folder, which.output);
    const millions = section.rows / 1e6;
    const measurement = {
      rowsPerSecond: section.rows / outcome.seconds,
      cpu: outcome.cpuSeconds / millions,
      serverCpu: serverSeconds / millions,
      peakRss: outcome.peakRss,
      workers: outcome.workers,
      bytes: written === undefined ? 0 : await bytesOf(written),
    };
    return { measurement, matches: check && written !== undefined ? await verify(written, section.rows) : undefined };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runJob(work: Work, folder: string, around: Surroundings): Promise<Outcome> {
  const { workshop, server, data, zips, section } = around;
  const job: Job = {
    work,
    baseUrl: server.url,
    limit: section.limit,
    concurrency,
    library: pathToFileURL(resolve('dist/index.js')).href,
    folder,
    counts: { leads: data.leads.rows, bridges: data.bridges.rows, areacodes: data.areacodes.rows },
    sql: work === 'duckdb' ? enrichment(folder, zips) : '',
  };
  return JSON.parse(await output([workshop.runner, JSON.stringify(job)], { cwd: folder }));
}

/** Measures the whole process, from start to end, and takes the number of rows from its report. */
async function runCommand(folder: string, { workshop }: Surroundings): Promise<Outcome> {
  const [usage, report] = [join(folder, 'usage.json'), join(folder, 'report.json')];
  const command = [resolve('dist/cli/main.cjs'), 'run', 'pipeline.yaml', '--quiet', '--report', report];
  const start = performance.now();
  await output(['--import', pathToFileURL(workshop.meter).href, ...command], {
    cwd: folder,
    env: { ...process.env, BENCH_KEY: key, LEADSTREAM_BENCH_USAGE: usage },
  });
  const seconds = (performance.now() - start) / 1000;
  const used: Usage = JSON.parse(await readFile(usage, 'utf8'));
  const { read }: { readonly read: number } = JSON.parse(await readFile(report, 'utf8'));
  return { ...used, seconds, rows: read };
}

/** Returns the size of an output, over all its files; the name may begin with `*`. */
async function bytesOf(pattern: string): Promise<number> {
  const [folder, name] = [dirname(pattern), basename(pattern)];
  const names = name.startsWith('*') ? (await readdir(folder)).filter((file) => file.endsWith(name.slice(1))) : [name];
  let bytes = 0;
  for (const file of names) bytes += (await stat(join(folder, file))).size;
  return bytes;
}

/** @throws {Error} If an output does not have exactly that many rows, all with different `lead_id`. */
async function verify(pattern: string, rows: number): Promise<Matches> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  const ask = async (sql: string): Promise<Record<string, unknown>[]> => (await connection.runAndReadAll(sql)).getRowObjectsJson();
  const read = pattern.endsWith('.csv') ? 'read_csv' : pattern.endsWith('.ndjson') ? 'read_json' : 'read_parquet';
  const table = `${read}('${pattern}'${read === 'read_csv' ? ', all_varchar = true, header = true' : ''})`;
  try {
    const columns = await ask(`SELECT column_name AS name FROM (DESCRIBE SELECT * FROM ${table})`);
    const joined = columns.some(({ name }) => name === 'bridge_title');
    const joins = joined ? `, count(nullif(bridge_title, '')) AS bridges, count(nullif(area_area_code, '')) AS areas` : '';
    const [counted = {}] = await ask(`SELECT count(*) AS rows, count(DISTINCT lead_id) AS leads${joins} FROM ${table}`);
    if (Number(counted['rows']) !== rows || Number(counted['leads']) !== rows)
      throw new Error(`${basename(pattern)} has ${String(counted['rows'])} rows with ${String(counted['leads'])} leads, not ${rows}`);
    return joined ? { bridges: Number(counted['bridges']), areas: Number(counted['areas']) } : undefined;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
