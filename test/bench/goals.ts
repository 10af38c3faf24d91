import type { CaseResult, SectionResult } from './statistics.js';

/** A goal and the measured value. */
export interface Goal {
  readonly what: string;
  readonly goal: string;
  readonly measured: string;
  readonly met: boolean;
}

/** Compares the medians with the goals, as far as they were measured. */
export function judged(results: readonly SectionResult[]): readonly Goal[] {
  const plain = results.filter(({ limit, latencyMs, growth }) => limit === 500 && latencyMs === 0 && growth === 'rows');
  const find = (rows: number, id: string): CaseResult | undefined =>
    plain.find((section) => section.rows === rows && section.cases.some((each) => each.id === id))?.cases.find((each) => each.id === id);
  return [...plain.flatMap(ratios), ...results.flatMap(underLatency), ...memory(find)];
}

/** Speed relative to the floor, to what a user would write instead, and to a run without the spool; each within one table. */
function ratios({ rows, cases }: SectionResult): readonly Goal[] {
  const rate = (id: string) => cases.find((each) => each.id === id)?.rowsPerSecond.median ?? Number.NaN;
  const joins = 'two joins -> Parquet';
  return [
    atLeast(0.5, rate('joins-parquet') / rate('floor'), `${joins}, ${amount(rows)} rows`, 'of the floor'),
    atLeast(0.5, rate('joins-csv') / rate('floor'), `two joins -> CSV, ${amount(rows)} rows`, 'of the floor'),
    atLeast(0.5, rate('joins-parquet') / rate('duckdb'), `${joins}, ${amount(rows)} rows`, 'of curl + DuckDB'),
    atLeast(
      8,
      rate('joins-parquet') / rate('parquetjs'),
      `${joins}, ${amount(rows)} rows`,
      'times the loop with parquetjs-lite, which joins nothing',
    ),
    atLeast(0.9, rate('joins-parquet') / rate('joins-parquet-unspooled'), `spool, ${joins}, ${amount(rows)} rows`, 'of the same without'),
  ].filter(({ measured }) => measured !== 'NaN');
}

/** With latency, the limit is as many pages at a time as there are requests in flight. */
function underLatency({ latencyMs, limit, concurrency, cases, rows }: SectionResult): readonly Goal[] {
  if (latencyMs === 0) return [];
  const allowed = (limit * concurrency * 1000) / latencyMs;
  return cases
    .filter(({ id }) => id === 'joins-parquet')
    .map(({ title, rowsPerSecond }) =>
      atLeast(0.9, rowsPerSecond.median / allowed, `${title}, ${amount(rows)} rows, ${latencyMs} ms a page`, 'of what latency allows'),
    );
}

function atLeast(least: number, measured: number, what: string, of: string): Goal {
  return { what, goal: `at least ${least} ${of}`, measured: measured.toFixed(2), met: measured >= least };
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
