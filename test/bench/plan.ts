import type { BenchOptions } from './options.js';
import { cases, type Case } from './cases.js';

/** Cases measured in turn under the same conditions, as one table. */
export interface Section {
  readonly title: string;
  /** What grows from section to section; sections with the same value are also shown side by side. */
  readonly growth?: 'rows' | 'bridges';
  readonly rows: number;
  readonly bridges: number;
  readonly limit: number;
  readonly concurrency: number;
  readonly latencyMs: number;
  /** Number of runs of every case. */
  readonly repeat: number;
  readonly cases: readonly Case[];
}

const everything = /./;
const goals = /^(floor|joins-parquet|joins-csv)$/;
const growing = /^(floor|joins-parquet|joins-parquet-lean)$/;
const usual = /^(floor|csv|parquet-arrow-zstd|joins-parquet|joins-csv|fast-csv|duckdb)$/;
const large = /^(floor|joins-.*|fast-csv|duckdb)$/;

/** Returns the sections to measure. A complete run takes three quarters of an hour on two cores. */
export function planOf({ quick, growth, only, rows, bridges, repeat }: BenchOptions): readonly Section[] {
  if (quick && growth) return [...[1_000, 10_000].map(grown), joined(5_000, 10_000), latency(5_000)];
  if (quick) return [...tables(5_000, everything, usual), joined(5_000, 10_000), latency(5_000)];
  if (rows !== undefined) return tables(rows, everything, usual);
  const joins = [10, 10_000, 1_000_000].map((bridges) => joined(100_000, bridges));
  if (growth) return [...[10_000, 100_000, 1_000_000, 3_000_000].map(grown), ...joins, latency(1_000_000)];
  const main = [...tables(100_000, everything, usual), ...tables(1_000_000, large, goals)];
  return [...main, grown(10_000), grown(3_000_000), ...joins, latency(1_000_000)];

  /** Returns the tables for one size: with the largest pages that the service allows, and with those that its document recommends. */
  function tables(count: number, at500: RegExp, at30: RegExp): readonly Section[] {
    return [
      section(`${amount(count)} rows, limit 500`, at500, { rows: count, growth: 'rows' }),
      section(`${amount(count)} rows, limit 30`, at30, { rows: count, limit: 30 }),
    ];
  }

  function grown(count: number): Section {
    const times = count > 1_000_000 ? 2 : 5;
    return section(`${amount(count)} rows, limit 500`, growing, { rows: count, growth: 'rows', repeat: times });
  }

  function joined(count: number, bridges: number): Section {
    return section(`${amount(count)} rows, ${amount(bridges)} bridges`, goals, { rows: count, bridges, growth: 'bridges' });
  }

  function latency(count: number): Section {
    const title = `${amount(count)} rows, limit 500, 50 ms per page, concurrency 8`;
    return section(title, goals, { rows: count, latencyMs: 50, concurrency: 8 });
  }

  function section(title: string, which: RegExp, given: Partial<Section>): Section {
    return {
      title,
      rows: 100_000,
      bridges: bridges ?? 200,
      limit: 500,
      concurrency: 4,
      latencyMs: 0,
      ...given,
      repeat: repeat ?? (quick ? 1 : (given.repeat ?? 5)),
      cases: cases.filter(({ id }) => which.test(id) && (id === 'floor' || only === undefined || only.test(id))),
    };
  }
}

function amount(count: number): string {
  return count.toLocaleString('en-US');
}
