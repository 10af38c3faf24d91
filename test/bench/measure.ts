import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Case } from './cases.js';
import { output, type PageServer, type Workshop } from './children.js';
import type { Dataset } from './data.js';
import { key, type Job, type Outcome, type Usage } from './job.js';
import { pipelineText } from './pipelines.js';
import type { Section } from './plan.js';
import { enrichment } from './sql.js';
import { bytesOf, verify, type Contents } from './verify.js';

/** One run of one case. */
export interface Measurement {
  readonly seconds: number;
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
  readonly profile: boolean;
}

/**
 * Runs a case once, in a separate process and folder.
 *
 * @param check Whether to read and count the output with DuckDB afterwards.
 */
export async function measure(
  which: Case,
  around: Surroundings,
  check: boolean,
): Promise<{ readonly measurement: Measurement; readonly contents: Contents | undefined }> {
  const { server, section } = around;
  const folder = await mkdtemp(join(around.workshop.folder, 'case-'));
  try {
    const before = await server.cpuSeconds();
    const outcome = await (which.work === 'cli' ? runCommand(which, folder, around) : runJob(which, which.work, folder, around));
    const serverSeconds = (await server.cpuSeconds()) - before;
    if (outcome.rows !== section.rows) throw new Error(`${which.id} took ${outcome.rows} rows of ${section.rows}`);
    const contents = check && which.output !== undefined ? await verify(join(folder, which.output), section.rows) : undefined;
    const millions = section.rows / 1e6;
    const measurement = {
      seconds: outcome.seconds,
      rowsPerSecond: section.rows / outcome.seconds,
      cpu: outcome.cpuSeconds / millions,
      serverCpu: serverSeconds / millions,
      peakRss: outcome.peakRss,
      workers: outcome.workers,
      bytes: which.output === undefined ? 0 : await bytesOf(join(folder, which.output)),
    };
    return { measurement, contents };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runJob(which: Case, work: Job['work'], folder: string, around: Surroundings): Promise<Outcome> {
  const { workshop, server, data, zips, section } = around;
  await writePipeline(which, folder, around);
  const job: Job = {
    work,
    baseUrl: server.url,
    limit: section.limit,
    concurrency: section.concurrency,
    library: pathToFileURL(resolve('dist/index.js')).href,
    folder,
    counts: { leads: data.leads.rows, bridges: data.bridges.rows, areacodes: data.areacodes.rows },
    sql: work === 'duckdb' ? enrichment(folder, zips) : '',
  };
  const printed = await output([...(await profiling(which, around)), workshop.runner, JSON.stringify(job)], { cwd: folder });
  return JSON.parse(printed);
}

/** Measures the whole process, from start to end, and takes the number of rows from its report. */
async function runCommand(which: Case, folder: string, around: Surroundings): Promise<Outcome> {
  await writePipeline(which, folder, around);
  const [usage, report] = [join(folder, 'usage.json'), join(folder, 'report.json')];
  const command = [resolve('dist/cli/main.cjs'), 'run', 'pipeline.yaml', '--quiet', '--report', report];
  const start = performance.now();
  await output([...(await profiling(which, around)), '--import', pathToFileURL(around.workshop.meter).href, ...command], {
    cwd: folder,
    env: { ...process.env, BENCH_KEY: key, LEADSTREAM_BENCH_USAGE: usage },
  });
  const seconds = (performance.now() - start) / 1000;
  const used: Usage = JSON.parse(await readFile(usage, 'utf8'));
  const { read }: { readonly read: number } = JSON.parse(await readFile(report, 'utf8'));
  return { ...used, seconds, rows: read };
}

async function writePipeline({ variant }: Case, folder: string, { server, section }: Surroundings): Promise<void> {
  if (variant === undefined) return;
  await writeFile(join(folder, 'pipeline.yaml'), pipelineText(variant, { ...section, baseUrl: server.url }));
}

async function profiling({ id }: Case, { profile, section }: Surroundings): Promise<readonly string[]> {
  if (!profile) return [];
  const folder = resolve('out/profiles', `${id}-${section.rows}-limit-${section.limit}`);
  await mkdir(folder, { recursive: true });
  return ['--cpu-prof', '--cpu-prof-dir', folder];
}
