import type { Goal } from './goals.js';
import type { Machine } from './machine.js';
import type { CaseResult, SectionResult, Spread } from './statistics.js';

/** All results of a run. */
export interface Results {
  readonly machine: Machine;
  readonly goals: readonly Goal[];
  readonly sections: readonly SectionResult[];
  /** Cases that could not be measured, and why. */
  readonly skipped: readonly { readonly title: string; readonly reason: string }[];
}

/** Returns the results as a page of Markdown. */
export function markdown({ machine, goals, sections, skipped }: Results): string {
  const versions = Object.entries(machine.packages).map(([name, version]) => `${name} ${version}`);
  const grown = (['rows', 'bridges'] as const).flatMap((growth) => growthOf(growth, sections));
  return [
    '# Benchmark results',
    '',
    `Made by \`npm run bench\` on ${machine.date}: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system}, Node ${machine.node}.`,
    '',
    `${versions.join(', ')}.`,
    '',
    'Every run is a process of its own; the cases of a table take turns. The page server is another process and takes its share of the same cores in every row, the',
    'floor included; its CPU time stands beside. Rows are leads: what joins read besides is in the time, not in the count. Rows/s are medians with the range in',
    'brackets; CPU is user and system time in seconds per million rows, children included; memory is the peak of resident memory in MB of 2^20 bytes (of `curl`',
    'and DuckDB: of the process with DuckDB). `the command` is timed from its start to its end, the others without the start of Node and the imports of the program.',
    'Each output is read by DuckDB once, and has to have every lead exactly once.',
    ...titled('Numbers to reach', goals.length === 0 ? [] : goalTable(goals)),
    ...sections.flatMap((section) => titled(section.title, sectionTable(section))),
    ...grown,
    ...titled(
      'Not measured',
      skipped.map(({ title, reason }) => `- ${title}: ${reason}`),
    ),
    '',
  ].join('\n');
}

function goalTable(goals: readonly Goal[]): readonly string[] {
  return table(
    ['what', 'goal', 'measured', 'met'],
    goals.map(({ what, goal, measured, met }) => [what, goal, measured, met ? 'yes' : '**no**']),
  );
}

function sectionTable({ repeat, cases, latencyMs, limit, concurrency }: SectionResult): readonly string[] {
  const allowed = latencyMs === 0 ? undefined : (1000 * concurrency * limit) / latencyMs;
  const head = ['case', 'rows/s', 'of the floor', 'CPU s/M rows', 'server CPU s/M rows', 'peak MB', 'MB written'];
  const rows = cases.map((each) => [
    each.title,
    `${thousands(each.rowsPerSecond.median)} (${thousands(each.rowsPerSecond.min)} to ${thousands(each.rowsPerSecond.max)})`,
    each.ratio.toFixed(2),
    each.cpu.median.toFixed(1),
    each.serverCpu.median.toFixed(1),
    megabytes(each.peakRss),
    (each.bytes.median / 1e6).toFixed(1),
    ...(allowed === undefined ? [] : [(each.rowsPerSecond.median / allowed).toFixed(2)]),
  ]);
  return [
    `${repeat} ${repeat === 1 ? 'run' : 'runs'} each.`,
    '',
    ...table(allowed === undefined ? head : [...head, 'of what latency allows'], rows),
  ];
}

/** Shows the cases measured at every size side by side. */
function growthOf(growth: 'rows' | 'bridges', sections: readonly SectionResult[]): readonly string[] {
  const sizes = sections.filter((section) => section.growth === growth).sort((a, b) => a[growth] - b[growth]);
  const common = (sizes[0]?.cases ?? []).filter(({ id }) => sizes.every((section) => resultOf(section, id) !== undefined));
  if (sizes.length < 2) return [];
  const rows = common.map(({ id, title }) => [
    title,
    ...sizes.map((section) => {
      const result = resultOf(section, id);
      return result === undefined
        ? ''
        : `${thousands(result.rowsPerSecond.median)}, ${megabytes(result.peakRss)} MB, ${result.ratio.toFixed(2)}`;
    }),
  ]);
  return titled(`Growth over ${growth}`, [
    'Rows/s, peak memory, and the ratio to the floor at that size.',
    '',
    ...table(['case', ...sizes.map((section) => section[growth].toLocaleString('en-US'))], rows),
  ]);
}

function resultOf({ cases }: SectionResult, id: string): CaseResult | undefined {
  return cases.find((each) => each.id === id);
}

function titled(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `## ${title}`, '', ...lines];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}

function thousands(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function megabytes({ median }: Spread): string {
  return thousands(median / 2 ** 20);
}
