/** Any key works. */
export const key = 'bench-key-0123456789';

/** What a measured process does. */
export type Work = 'floor' | 'pipeline' | 'program' | 'fast-csv' | 'duckdb';

/** The differences between the measured pipelines. */
export interface PipelineVariant {
  readonly steps: readonly ('dedupe' | 'derive' | 'joins')[];
  /** One sink, as written in a pipeline file. */
  readonly to: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Default: that of the product. */
  readonly consistency?: 'off';
  /** Whether pages are spooled. Default: that of the product. */
  readonly spool?: 'off';
}

/** One row of the tables. */
export interface Case {
  readonly id: string;
  readonly title: string;
  /** The work of the process; `cli` starts the command itself. */
  readonly work: Work | 'cli';
  readonly variant?: PipelineVariant;
  /** Its output in the folder of the run, as a glob; none for the floor. */
  readonly output?: string;
}

/** Cases measured in turn under the same conditions, as one table. */
export interface Section {
  readonly rows: number;
  readonly limit: 30 | 500;
  /** Number of runs of every case. */
  readonly repeat: number;
  readonly cases: readonly Case[];
}

const parquet = { parquet: { path: 'out' } };
const all = ['dedupe', 'derive', 'joins'] as const;
const enriched = ['derive', 'joins'] as const;

/** All cases, in the order of the tables. */
const cases: readonly Case[] = [
  { id: 'floor', title: 'floor: got + JSON.parse, pages discarded', work: 'floor' },
  ours('csv', 'text -> CSV', { steps: [], to: { csv: { path: 'out.csv' } } }),
  ours('ndjson', 'text -> ndjson', { steps: [], to: { ndjson: { path: 'out.ndjson' } } }),
  ours('parquet', 'typed -> Parquet', { steps: [], to: parquet }),
  { id: 'program', title: 'in a program: leads -> typed Parquet by writeTo(), no spool', work: 'program', output: 'out/*.parquet' },
  ours('joins-parquet', 'typed + dedupe + derive + two joins -> Parquet', { steps: all, to: parquet }),
  ours('joins-parquet-unspooled', 'typed + dedupe + derive + two joins -> Parquet, no spool', { steps: all, to: parquet, spool: 'off' }),
  ours('joins-parquet-lean', 'typed + derive + two joins -> Parquet (no dedupe)', { steps: enriched, to: parquet }),
  ours('joins-parquet-unchecked', 'typed + derive + two joins -> Parquet (no dedupe, consistency off)', {
    steps: enriched,
    to: parquet,
    consistency: 'off',
  }),
  ours('joins-csv', 'text + derive + two joins -> CSV', { steps: enriched, to: { csv: { path: 'out.csv' } } }),
  { ...ours('cli', 'the command, start to end: dedupe + derive + two joins -> Parquet', { steps: all, to: parquet }), work: 'cli' },
  { id: 'fast-csv', title: 'got loop + fast-csv', work: 'fast-csv', output: 'out.csv' },
  { id: 'duckdb', title: 'curl + DuckDB: typed, distinct, two joins -> Parquet, zstd', work: 'duckdb', output: 'out.parquet' },
];

function ours(id: string, title: string, variant: PipelineVariant): Case {
  const [sink = ''] = Object.keys(variant.to);
  return { id, title, work: 'pipeline', variant, output: sink === 'parquet' ? 'out/*.parquet' : `out.${sink}` };
}

const usual = /^(floor|csv|parquet|joins-parquet|joins-csv|cli|fast-csv|duckdb)$/;
const large = /^(floor|joins-.*|fast-csv|duckdb)$/;
const goals = /^(floor|csv|joins-parquet|joins-csv|fast-csv)$/;
const growing = /^(floor|joins-parquet|joins-parquet-lean)$/;

/** Returns the sections to measure, each size with the largest pages that the service allows and with those that its document recommends. */
export function planOf({
  rows,
  only,
  repeat,
}: {
  readonly rows?: number;
  readonly only?: RegExp;
  readonly repeat?: number;
}): readonly Section[] {
  const section = (count: number, limit: Section['limit'], which: RegExp, times = 5): Section => ({
    rows: count,
    limit,
    repeat: repeat ?? times,
    cases: cases.filter(({ id }) => which.test(id) && (id === 'floor' || only === undefined || only.test(id))),
  });
  if (rows !== undefined) return [section(rows, 500, /./), section(rows, 30, usual)];
  return [
    section(10_000, 500, growing),
    section(100_000, 500, /./),
    section(100_000, 30, usual),
    section(1_000_000, 500, large),
    section(1_000_000, 30, goals),
    section(3_000_000, 500, growing, 2),
  ];
}

/** Where a pipeline reads from. */
interface Reading {
  readonly baseUrl: string;
  readonly limit: number;
  readonly concurrency: number;
}

const steps = {
  dedupe: [{ dedupe: {} }],
  derive: [{ derive: { zip_city: 'zip_city(zipcode)', zip_state: 'zip_state(zipcode)' } }],
  joins: [
    { join: { with: 'bridges', on: { bridge_id: 'id' }, as: 'bridge', select: ['title', 'niche'] } },
    {
      join: {
        with: 'areacodes',
        on: { zip_state: 'state', zip_city: 'city' },
        normalize: 'casefold',
        pick: { max: 'percent_of_area_code_in_city' },
        as: 'area',
        select: ['area_code', 'city_population'],
      },
    },
  ],
} as const;

/** Returns the text of a pipeline file (JSON, which is also YAML). Outputs are relative; the key is the variable `BENCH_KEY`. */
export function pipelineText({ steps: names, to, consistency, spool }: PipelineVariant, { baseUrl, limit, concurrency }: Reading): string {
  return JSON.stringify({
    name: 'bench',
    // A first run waits where its list ends with a full page, as every list here does: that is a time, and not work.
    service: { base_url: baseUrl, auth: { rest_api_key: '${BENCH_KEY}' }, limit, concurrency, end_wait: '1ms' },
    from: 'leads',
    ...(consistency && { consistency }),
    ...(spool && { spool }),
    steps: names.flatMap((name): readonly object[] => steps[name]),
    to: [to],
  });
}
