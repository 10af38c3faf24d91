import { readFile } from 'node:fs/promises';
import { arch, cpus, platform, totalmem } from 'node:os';
import type { Case, Section } from './cases.js';
import type { Measurement } from './measure.js';

/** A case of a section with all its runs. */
export type Measured = readonly [Case, readonly Measurement[]];

/** A number to reach, and what was measured. */
export interface Goal {
  readonly what: string;
  readonly goal: string;
  readonly measured: string;
  readonly met: boolean;
}

/** All results of a run. */
export interface Results {
  readonly sections: readonly (readonly [Section, readonly Measured[]])[];
  /** Goals that no section has. */
  readonly starts: readonly Goal[];
}

/** Returns the results as a page of Markdown. */
export async function markdown({ sections, starts }: Results): Promise<string> {
  const goals = [...sections.flatMap(([section, cases]) => ratios(section, cases)), ...memory(sections), ...starts];
  return [
    '# Benchmark results',
    '',
    await machine(),
    '',
    'Every run is a process of its own; the cases of a table take turns. The page server is another process and takes its share of the same cores in every row, the',
    'floor included; its CPU time stands beside. Rows are leads: what joins read besides is in the time, not in the count. Rows/s are medians with the range in',
    'brackets; CPU is user and system time in seconds per million rows, children included; memory is the peak of resident memory in MB of 2^20 bytes (of `curl`',
    'and DuckDB: of the process with DuckDB). `the command` is timed from its start to its end, the others without the start of Node and the imports of the program.',
    'Each output is read by DuckDB once, and has to have every lead exactly once.',
    '',
    '## Numbers to reach',
    '',
    ...table(
      ['what', 'goal', 'measured', 'met'],
      goals.map(({ what, goal, measured, met }) => [what, goal, measured, met ? 'yes' : '**no**']),
    ),
    ...sections.flatMap(([section, cases]) => sectionTable(section, cases)),
    '',
  ].join('\n');
}

function sectionTable({ rows, limit, repeat }: Section, cases: readonly Measured[]): readonly string[] {
  const floor = medianOf(cases, 'floor');
  const lines = cases.map(([{ title }, runs]) => {
    const of = (value: (run: Measurement) => number) => spread(runs.map(value));
    const { median, min, max } = of((run) => run.rowsPerSecond);
    return [
      title,
      `${thousands(median)} (${thousands(min)} to ${thousands(max)})`,
      (median / floor).toFixed(2),
      of((run) => run.cpu).median.toFixed(1),
      of((run) => run.serverCpu).median.toFixed(1),
      thousands(of((run) => run.peakRss).median / 2 ** 20),
      (of((run) => run.bytes).median / 1e6).toFixed(1),
    ];
  });
  const head = ['case', 'rows/s', 'of the floor', 'CPU s/M rows', 'server CPU s/M rows', 'peak MB', 'MB written'];
  return [
    '',
    `## ${thousands(rows)} rows, limit ${limit}`,
    '',
    `${repeat} ${repeat === 1 ? 'run' : 'runs'} each.`,
    '',
    ...table(head, lines),
  ];
}

/** Speed relative to the floor, to what a user would write instead, and to a run without the spool; each within one table. */
function ratios({ rows, limit }: Section, cases: readonly Measured[]): readonly Goal[] {
  const goal = (least: number, id: string, other: string, of: string): readonly Goal[] => {
    const measured = medianOf(cases, id) / medianOf(cases, other);
    const title = cases.find(([each]) => each.id === id)?.[0].title ?? '';
    const what = `${title}, ${thousands(rows)} rows, limit ${limit}`;
    return Number.isNaN(measured) ? [] : [{ what, goal: `at least ${least} ${of}`, measured: measured.toFixed(2), met: measured >= least }];
  };
  return [
    ...goal(0.5, 'joins-parquet', 'floor', 'of the floor'),
    ...goal(0.5, 'joins-csv', 'floor', 'of the floor'),
    ...goal(0.5, 'joins-parquet', 'duckdb', 'of curl + DuckDB'),
    ...goal(1, 'csv', 'fast-csv', 'of the loop with fast-csv'),
    ...goal(0.9, 'joins-parquet', 'joins-parquet-unspooled', 'of the same without the spool'),
  ];
}

function memory(sections: Results['sections']): readonly Goal[] {
  const runsOf = (rows: number) =>
    sections.find(([section]) => section.rows === rows && section.limit === 500)?.[1].find(([{ id }]) => id === 'joins-parquet-lean')?.[1];
  const [few, many] = [runsOf(100_000), runsOf(1_000_000)];
  if (!few || !many) return [];
  const [small, large] = [few, many].map((runs) => spread(runs.map(({ peakRss }) => peakRss)).median) as [number, number];
  const workers = Math.max(...many.map((run) => run.workers));
  const most = 256 + 128 * workers;
  const what = 'peak memory without dedupe';
  return [
    {
      what: `${what}, 1,000,000 rows`,
      goal: `at most ${most} MB (${workers} worker threads)`,
      measured: `${Math.round(large / 2 ** 20)} MB`,
      met: large <= most * 2 ** 20,
    },
    {
      what: `${what}, 1,000,000 against 100,000 rows`,
      goal: 'at most 10 % more',
      measured: `${((100 * large) / small - 100).toFixed(0)} % more`,
      met: large <= 1.1 * small,
    },
  ];
}

function medianOf(cases: readonly Measured[], id: string): number {
  const runs = cases.find(([each]) => each.id === id)?.[1] ?? [];
  return spread(runs.map((run) => run.rowsPerSecond)).median;
}

/** @example spread([3, 1, 2]); // { median: 2, min: 1, max: 3 } */
export function spread(values: readonly number[]): { readonly median: number; readonly min: number; readonly max: number } {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  const last = sorted.length - 1;
  return { median: (at(Math.floor(last / 2)) + at(Math.ceil(last / 2))) / 2, min: at(0), max: at(last) };
}

/** What the numbers depend on, without any host name or path. */
async function machine(): Promise<string> {
  const packages = ['got', 'rxjs', 'fast-csv', 'parquet-wasm', '@marcbachmann/cel-js', '@duckdb/node-api'];
  const versions = packages.map(async (name) => {
    const { version }: { readonly version: string } = JSON.parse(await readFile(`node_modules/${name}/package.json`, 'utf8'));
    return `${name} ${version}`;
  });
  const cpu = `${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, ${platform()} ${arch()}`;
  const date = new Date().toISOString().slice(0, 10);
  return `Made by \`npm run bench\` on ${date}: ${cpu}, Node ${process.versions.node}, ${(await Promise.all(versions)).join(', ')}.`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}

function thousands(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
