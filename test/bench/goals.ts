import { resolve } from 'node:path';
import { output } from './children.js';
import { spread, type CaseResult, type SectionResult } from './statistics.js';

/** A number to reach and what was measured. */
export interface Goal {
  readonly what: string;
  readonly goal: string;
  readonly measured: string;
  readonly met: boolean;
}

/**
 * Judges the numbers to reach by the medians, as far as they were measured.
 *
 * @param helpMs Times of `leadstream --help` in milliseconds.
 */
export function judged(results: readonly SectionResult[], helpMs: readonly number[]): readonly Goal[] {
  const plain = results.filter(({ limit, latencyMs, growth }) => limit === 500 && latencyMs === 0 && growth === 'rows');
  const find = (rows: number, id: string): CaseResult | undefined =>
    plain.find((section) => section.rows === rows && section.cases.some((each) => each.id === id))?.cases.find((each) => each.id === id);
  const ratios = plain.flatMap((section) =>
    section.cases
      .filter(({ id }) => id === 'joins-parquet' || id === 'joins-csv')
      .map(({ title, ratio }) => ({
        what: `${title}, ${amount(section.rows)} rows`,
        goal: 'at least 0.5 of the floor',
        measured: ratio.toFixed(2),
        met: ratio >= 0.5,
      })),
  );
  const help = spread(helpMs);
  const start = {
    what: 'start of `leadstream --help`',
    goal: 'under 250 ms',
    measured: `${Math.round(help.median)} ms`,
    met: help.median < 250,
  };
  return [...ratios, ...memory(find), start];
}

/** Times of `leadstream --help`, in milliseconds. */
export async function timeHelp(times: number): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let run = 0; run < times; run += 1) {
    const start = performance.now();
    await output([resolve('dist/cli/main.js'), '--help']);
    taken.push(performance.now() - start);
  }
  return taken;
}

function memory(find: (rows: number, id: string) => CaseResult | undefined): readonly Goal[] {
  const goals: Goal[] = [];
  const deduped = find(1_000_000, 'joins-parquet');
  for (const id of ['joins-parquet-lean', 'joins-parquet-unchecked']) {
    const [few, many] = [find(100_000, id), find(1_000_000, id)];
    if (!few || !many) continue;
    const [small, large] = [few.peakRss.median, many.peakRss.median];
    const most = 256 + 128 * many.workers;
    const what = id === 'joins-parquet-lean' ? 'peak memory without dedupe' : 'peak memory without dedupe, consistency off';
    goals.push({
      what: `${what}, 1,000,000 rows`,
      goal: `at most ${most} MB (${many.workers} worker threads)`,
      measured: `${Math.round(large / 2 ** 20)} MB`,
      met: large <= most * 2 ** 20,
    });
    goals.push({
      what: `${what}, against 100,000 rows`,
      goal: 'at most 10 % more',
      measured: `${((100 * large) / small - 100).toFixed(0)} % more`,
      met: large <= 1.1 * small,
    });
  }
  const lean = find(1_000_000, 'joins-parquet-lean');
  if (deduped && lean) {
    const perKey = (deduped.peakRss.median - lean.peakRss.median) / 1_000_000;
    goals.push({
      what: '`dedupe`, 1,000,000 keys',
      goal: 'at most 32 bytes per key',
      measured: `${perKey.toFixed(1)} bytes`,
      met: perKey <= 32,
    });
  }
  return goals;
}

function amount(count: number): string {
  return count.toLocaleString('en-US');
}
