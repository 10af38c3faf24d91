import type { Measurement } from './measure.js';
import type { Case } from './cases.js';
import type { Section } from './plan.js';

/** Median and range of several runs. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** A case in a section, over all its runs. */
export interface CaseResult extends Pick<Case, 'id' | 'title' | 'group'> {
  readonly rowsPerSecond: Spread;
  /** Median rows/s divided by the floor's. */
  readonly ratio: number;
  readonly cpu: Spread;
  readonly serverCpu: Spread;
  readonly peakRss: Spread;
  readonly bytes: Spread;
  readonly workers: number;
  readonly runs: readonly Measurement[];
}

export interface SectionResult extends Omit<Section, 'cases'> {
  readonly cases: readonly CaseResult[];
}

/** Computes the medians, ranges and ratios of a section. @param runs Runs by the identifier of their case. */
export function summarized(section: Section, runs: ReadonlyMap<string, readonly Measurement[]>): SectionResult {
  const of = (id: string, value: (run: Measurement) => number) => spread((runs.get(id) ?? []).map(value));
  const floor = of('floor', (run) => run.rowsPerSecond).median;
  const measured = section.cases.filter(({ id }) => runs.has(id));
  return {
    ...section,
    cases: measured.map(({ id, title, group }) => ({
      id,
      title,
      group,
      rowsPerSecond: of(id, (run) => run.rowsPerSecond),
      ratio: of(id, (run) => run.rowsPerSecond).median / floor,
      cpu: of(id, (run) => run.cpu),
      serverCpu: of(id, (run) => run.serverCpu),
      peakRss: of(id, (run) => run.peakRss),
      bytes: of(id, (run) => run.bytes),
      workers: of(id, (run) => run.workers).max,
      runs: runs.get(id) ?? [],
    })),
  };
}

/** @example spread([3, 1, 2]); // { median: 2, min: 1, max: 3 } */
export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  const last = sorted.length - 1;
  return { median: (at(Math.floor(last / 2)) + at(Math.ceil(last / 2))) / 2, min: at(0), max: at(last) };
}
