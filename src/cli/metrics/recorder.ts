import type { RunReport, Watcher } from '../../index.js';
import type { MetricName, Sample } from './definitions.js';

/** How a run ended, for its metrics. */
export interface RunEnd {
  readonly exit: number;
  /** Whether everything is published. */
  readonly published: boolean;
  /** What it did, as far as it came. */
  readonly report: RunReport | undefined;
}

/** Counts what a run of one pipeline does. */
export class RunRecorder {
  readonly #requests = new Map<string, number>();
  readonly #retries = new Map<string, number>();
  #bytes = 0;
  #startedAt: number | undefined;
  #seconds: number | undefined;

  readonly watcher: Watcher = {
    run: {
      start: () => (this.#startedAt = performance.now()),
      asyncEnd: () => (this.#seconds = (performance.now() - (this.#startedAt ?? performance.now())) / 1000),
    },
    request: {
      asyncEnd: ({ purpose, bytes = 0 }) => {
        add(this.#requests, purpose);
        this.#bytes += bytes;
      },
    },
    retry: ({ error: { code, status } }) => add(this.#retries, String(status ?? code)),
  };

  constructor(readonly pipeline: string) {}

  /** @param now Milliseconds since 1970. */
  samples({ exit, published, report }: RunEnd, now: number): readonly Sample[] {
    const { pipeline } = this;
    const of = (name: MetricName, value: number | undefined, labels: Readonly<Record<string, string>> = {}): readonly Sample[] =>
      value === undefined ? [] : [{ name, labels: { pipeline, ...labels }, value }];
    return [
      ...of('leadstream_run_last_timestamp_seconds', now / 1000),
      ...of('leadstream_run_last_success_timestamp_seconds', published ? now / 1000 : undefined),
      ...of('leadstream_run_exit_code', exit),
      ...of('leadstream_run_duration_seconds', this.#seconds),
      ...of('leadstream_run_pages', report?.pages),
      ...of('leadstream_run_read_rows', report?.read),
      ...(report?.sinks ?? []).flatMap(({ at, bytes, books: { written, ...others } }) => [
        // What was not published is nowhere written.
        ...Object.entries<number>(published ? { ...others, written } : others).flatMap(([count, rows]) =>
          of('leadstream_run_rows', rows, { output: at, count: snakeCase(count) }),
        ),
        ...of('leadstream_run_output_bytes', published ? bytes : undefined, { output: at }),
      ]),
      ...[...this.#requests].flatMap(([purpose, count]) => of('leadstream_run_requests', count, { purpose })),
      ...[...this.#retries].flatMap(([reason, count]) => of('leadstream_run_retries', count, { reason })),
      ...of('leadstream_run_response_bytes', this.#bytes),
    ];
  }
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
