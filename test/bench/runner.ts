/**
 * A measured process: does one job and prints its outcome as JSON. Imports are done before the clock starts.
 *
 *   node runner.js '{"work": "floor", …}'
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { promisify } from 'node:util';
import got from 'got';
import type * as Leadstream from '../../src/index.js';
import { key, type Work } from './cases.js';
import { usage, type Usage } from './meter.js';

/** The job of a measured process. Everything that takes time to prepare is prepared before. */
export interface Job {
  readonly work: Work;
  readonly baseUrl: string;
  readonly limit: number;
  readonly concurrency: number;
  /** URL of the built library. */
  readonly library: string;
  /** Folder of this run only, for its outputs. */
  readonly folder: string;
  /** Number of rows in each collection; curl must know the number of pages. */
  readonly counts: Readonly<Record<'leads' | 'bridges' | 'areacodes', number>>;
  /** The statement that DuckDB runs on the downloaded pages. */
  readonly sql: string;
}

/** The result of a measured process: its work, without the start of the process. */
export interface Outcome extends Usage {
  readonly seconds: number;
  readonly rows: number;
}

/**
 * Yields the leads page by page, in order, with `concurrency` requests ahead, using only got and `JSON.parse`. This is the floor for all comparisons,
 * and the hand-written loops read through it.
 */
async function* leadPages({ baseUrl, limit, concurrency }: Job): AsyncGenerator<readonly Record<string, string>[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const client = got.extend({ agent: { http: agent }, responseType: 'buffer', retry: { limit: 0 } });
  const read = async (page: number): Promise<Record<string, string>[]> => {
    const { body } = await client.get(`${baseUrl}/api/leads`, { searchParams: { page, limit, rest_api_key: key } });
    return JSON.parse(body.toString());
  };
  const ahead = Array.from({ length: concurrency }, (_, index) => read(index + 1));
  for (let page = 1; ; page += 1) {
    const rows = await ahead.shift();
    if (rows === undefined || rows.length === 0) break;
    ahead.push(read(page + concurrency));
    yield rows;
  }
  await Promise.all(ahead);
  agent.destroy();
}

/** Reads all leads and does something with each page. */
async function looped(job: Job, take: (page: readonly Record<string, string>[]) => unknown): Promise<number> {
  let rows = 0;
  for await (const page of leadPages(job)) {
    rows += page.length;
    await take(page);
  }
  return rows;
}

/** Prepares each kind of work; what it gives does the work, and returns the number of rows. */
const works: Readonly<Record<Work, (job: Job) => Promise<() => Promise<number>>>> = {
  floor: (job) => Promise.resolve(() => looped(job, () => undefined)),

  /** Runs `pipeline.yaml` in the folder, as the command does. */
  pipeline: async ({ library, folder }) => {
    const { loadPipeline, runPipeline }: typeof Leadstream = await import(library);
    return async () => {
      const pipeline = await loadPipeline(join(folder, 'pipeline.yaml'), { env: { BENCH_KEY: key }, baseDir: folder });
      return (await runPipeline(pipeline)).read;
    };
  },

  /** The streams in a program: leads as typed Parquet, without the spool and without a check for rows that moved. */
  program: async ({ library, baseUrl, limit, concurrency, folder }) => {
    const { connect, writeTo, parquet }: typeof Leadstream = await import(library);
    return async () => {
      const service = connect({ baseUrl, auth: { rest_api_key: key }, limit, concurrency, endWaitMs: 1 });
      const sink = await parquet({ path: join(folder, 'out') });
      const { rows } = await writeTo(service.leads.with({ consistency: 'off' }), sink);
      await service.close();
      return rows;
    };
  },

  /** Passes every row to fast-csv and waits when it is full. */
  'fast-csv': async (job) => {
    const { format } = await import('fast-csv');
    return async () => {
      const csv = format({ headers: true });
      const file = csv.pipe(createWriteStream(join(job.folder, 'out.csv')));
      const rows = await looped(job, async (page) => {
        for (const row of page) if (!csv.write(row)) await once(csv, 'drain');
      });
      csv.end();
      await finished(file);
      return rows;
    };
  },

  /** One curl for all pages of the three collections, then one DuckDB statement over the files. */
  duckdb: async ({ baseUrl, limit, concurrency, folder, counts, sql }) => {
    const { DuckDBInstance } = await import('@duckdb/node-api');
    return async () => {
      const downloads = Object.entries(counts).flatMap(([name, rows]) =>
        Array.from({ length: Math.ceil(rows / limit) }, (_, index) => {
          const url = `${baseUrl}/api/${name}?page=${index + 1}&limit=${limit}&rest_api_key=${key}`;
          return `url = "${url}"\noutput = "${join(folder, `${name}-${index + 1}.json`)}"`;
        }),
      );
      const list = join(folder, 'curl.config');
      await writeFile(list, downloads.join('\n'));
      await promisify(execFile)('curl', [
        '--parallel',
        '--parallel-max',
        `${concurrency}`,
        '--fail',
        '--silent',
        '--show-error',
        '--config',
        list,
      ]);
      const instance = await DuckDBInstance.create();
      const connection = await instance.connect();
      await connection.run(sql);
      connection.closeSync();
      instance.closeSync();
      return counts.leads;
    };
  },
};

const job: Job = JSON.parse(process.argv[2] ?? '{}');
const work = await works[job.work](job);
const before = usage();
const start = performance.now();
const rows = await work();
const seconds = (performance.now() - start) / 1000;
const after = usage();
const outcome: Outcome = { ...after, cpuSeconds: after.cpuSeconds - before.cpuSeconds, seconds, rows };
process.stdout.write(`${JSON.stringify(outcome)}\n`);
