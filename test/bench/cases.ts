import { parsePipeline, SpecError } from '../../src/index.js';
import { key, type Job } from './job.js';
import { pipelineText, type PipelineVariant } from './pipelines.js';

/** One row of the tables. */
export interface Case {
  readonly id: string;
  readonly title: string;
  readonly group: 'floor' | 'ours' | 'instead';
  /** The work of the process; `cli` starts the command itself. */
  readonly work: Job['work'] | 'cli';
  readonly variant?: PipelineVariant;
  /** Its output in the folder of the run, as a glob; none for the floor. */
  readonly output?: string;
}

const parquet = (options: object = {}) => ({ parquet: { path: 'out', ...options } });
const all = ['dedupe', 'derive', 'joins'] as const;
const enriched = ['derive', 'joins'] as const;

const codecs = [
  ['arrow', ['zstd', 'snappy', 'gzip', 'none']],
  ['parquetjs-lite', ['snappy', 'gzip', 'none']],
] as const;

/** All cases, in the order of the tables. */
export const cases: readonly Case[] = [
  { id: 'floor', title: 'floor: got + JSON.parse, pages discarded', group: 'floor', work: 'floor' },
  ours('csv', 'text -> CSV', { steps: [], to: { csv: { path: 'out.csv' } } }),
  ours('ndjson', 'text -> ndjson', { steps: [], to: { ndjson: { path: 'out.ndjson' } } }),
  ...codecs.flatMap(([engine, names]) =>
    names.map((compression) =>
      ours(`parquet-${engine}-${compression}`, `typed -> Parquet, ${engine}, ${compression}`, {
        steps: [],
        to: parquet({ engine, compression }),
      }),
    ),
  ),
  {
    id: 'program',
    title: 'in a program: leads -> typed Parquet by writeTo(), no spool',
    group: 'ours',
    work: 'program',
    output: 'out/*.parquet',
  },
  ours('joins-parquet', 'typed + dedupe + derive + two joins -> Parquet', { steps: all, to: parquet() }),
  ours('joins-parquet-unspooled', 'typed + dedupe + derive + two joins -> Parquet, no spool', {
    steps: all,
    to: parquet(),
    spool: 'off',
  }),
  ours('joins-parquet-lean', 'typed + derive + two joins -> Parquet (no dedupe)', { steps: enriched, to: parquet() }),
  ours('joins-parquet-unchecked', 'typed + derive + two joins -> Parquet (no dedupe, consistency off)', {
    steps: enriched,
    to: parquet(),
    consistency: 'off',
  }),
  ours('joins-csv', 'text + derive + two joins -> CSV', { steps: enriched, to: { csv: { path: 'out.csv' } } }),
  { ...ours('cli', 'the command, start to end: dedupe + derive + two joins -> Parquet', { steps: all, to: parquet() }), work: 'cli' },
  instead('parquetjs', 'got loop + parquetjs-lite appendRow, all text', 'parquetjs', 'out.parquet'),
  instead('fast-csv', 'got loop + fast-csv', 'fast-csv', 'out.csv'),
  instead('duckdb', 'curl + DuckDB: typed, distinct, two joins -> Parquet, zstd', 'duckdb', 'out.parquet'),
];

/** Explains why a case cannot be measured with this build, by asking the product itself; `undefined` if it can. */
export async function unavailable({ variant }: Case): Promise<string | undefined> {
  if (variant === undefined) return undefined;
  try {
    await parsePipeline(pipelineText(variant, { baseUrl: 'http://localhost', limit: 500, concurrency: 4 }), 'pipeline', {
      env: { BENCH_KEY: key },
    });
    return undefined;
  } catch (error) {
    if (!(error instanceof SpecError)) throw error;
    return error.issues.map(({ message }) => message).join('; ');
  }
}

function ours(id: string, title: string, variant: PipelineVariant): Case {
  const [sink = ''] = Object.keys(variant.to);
  return { id, title, group: 'ours', work: 'pipeline', variant, output: sink === 'parquet' ? 'out/*.parquet' : `out.${sink}` };
}

function instead(id: string, title: string, work: Job['work'], output: string): Case {
  return { id, title, group: 'instead', work, output };
}
