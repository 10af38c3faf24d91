import type { RunReport, Watcher } from '../../index.js';
import type { RequestCounts } from '../request-counts.js';
import type { MetricName, Sample } from './definitions.js';

/** How a run ended, for its metrics. */
export interface RunEnd {
  readonly exit: number;
  /** Whether everything was published. */
  readonly published: boolean;
  /** What it did, as far as it got. */
  readonly report: RunReport | undefined;
}

/** Measures a run of one pipeline. */
export class RunRecorder {
  #startedAt: number | undefined;
  #seconds: number | undefined;

  readonly watcher: Watcher = {
    run: {
      start: () => (this.#startedAt = performance.now()),
      asyncEnd: () => (this.#seconds = (performance.now() - (this.#startedAt ?? performance.now())) / 1000),
    },
  };

  constructor(
    readonly pipeline: string,
    private readonly counts: RequestCounts,
  ) {}

  /** @param now Milliseconds since 1970, for a run without a known end. */
  samples({ exit, published, report }: RunEnd, now: number): readonly Sample[] {
    const { pipeline, counts } = this;
    const endedAt = (report ? Date.parse(report.finishedAt) : now) / 1000;
    const of = (name: MetricName, value: number | undefined, labels: Readonly<Record<string, string>> = {}): readonly Sample[] =>
      value === undefined ? [] : [{ name, labels: { pipeline, ...labels }, value }];
    return [
      ...of('leadstream_run_last_timestamp_seconds', endedAt),
      ...of('leadstream_run_last_success_timestamp_seconds', published ? endedAt : undefined),
      ...of('leadstream_run_exit_code', exit),
      ...of('leadstream_run_duration_seconds', this.#seconds),
      ...of('leadstream_run_pages', report?.pages),
      ...of('leadstream_run_read_rows', report?.read),
      ...(report?.sinks ?? []).flatMap(({ at, bytes, books: { written, ...others } }) => [
        // Rows that were not published are written nowhere.
        ...Object.entries<number>(published ? { ...others, written } : others).flatMap(([count, rows]) =>
          of('leadstream_run_rows', rows, { output: at, count: snakeCase(count) }),
        ),
        ...of('leadstream_run_output_bytes', published ? bytes : undefined, { output: at }),
      ]),
      ...[...counts.requests].flatMap(([purpose, count]) => of('leadstream_run_requests', count, { purpose })),
      ...[...byReason(counts.retries)].flatMap(([reason, count]) => of('leadstream_run_retries', count, { reason })),
      ...of('leadstream_run_response_bytes', counts.bytes),
    ];
  }
}

/** Counts retries by HTTP status, or by code if there was no status. */
function byReason(retries: RequestCounts['retries']): ReadonlyMap<string, number> {
  const reasons = new Map<string, number>();
  for (const { code, status, count } of retries) {
    const reason = String(status ?? code);
    reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  }
  return reasons;
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
