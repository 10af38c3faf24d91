/**
 * A measured process: does one job and prints its outcome as JSON. Imports are done before the clock starts.
 *
 *   node runner.js '{"work": "floor", …}'
 */
import type { Job, Outcome, Work } from './job.js';
import { usage } from './meter.js';

const works: Readonly<Record<Job['work'], () => Promise<{ readonly prepare: (job: Job) => Promise<Work> }>>> = {
  floor: () => import('./jobs/floor.js'),
  pipeline: () => import('./jobs/pipeline.js'),
  program: () => import('./jobs/program.js'),
  parquetjs: () => import('./jobs/parquetjs.js'),
  'fast-csv': () => import('./jobs/fast-csv.js'),
  duckdb: () => import('./jobs/duckdb.js'),
};

const job: Job = JSON.parse(process.argv[2] ?? '{}');
const { prepare } = await works[job.work]();
const work = await prepare(job);
const before = usage();
const start = performance.now();
const rows = await work(job);
const seconds = (performance.now() - start) / 1000;
const after = usage();
const outcome: Outcome = { ...after, cpuSeconds: after.cpuSeconds - before.cpuSeconds, seconds, rows };
process.stdout.write(`${JSON.stringify(outcome)}\n`);
