import type { OperationEvent, Watcher } from '../../index.js';
import type { Clock } from '../clock.js';
import type { RequestCounts, RetryCount } from '../request-counts.js';
import { Latencies, type LatencySummary } from './latencies.js';
import { SlowestRequests, type SlowRequest } from './slowest.js';
import { TimelineBuilder, type Timeline } from './timeline.js';

/** What a report contains about a run in addition to its row counts, however it ended. */
export interface Observed {
  readonly runId: string | undefined;
  /** From the start of the run to its end, without notifications after it. */
  readonly durationMs: number;
  readonly requests: RequestsReport;
  /** How long each stage took, in the order in which they began; stages may overlap. */
  readonly stages: readonly Stage[];
  readonly timeline: Timeline;
}

export interface RequestsReport {
  /** All attempts. */
  readonly total: number;
  /** The attempts that only checked. */
  readonly probes: number;
  /** Bytes of all answers, after decompression. */
  readonly bytes: number;
  readonly retries: readonly RetryCount[];
  readonly latency?: LatencySummary;
  /** The attempts that took the longest, longest first; at most five. */
  readonly slowest: readonly SlowRequest[];
}

export interface Stage {
  readonly stage: string;
  /** Milliseconds since the start of the run. */
  readonly startMs: number;
  readonly ms: number;
}

/** Observes a run through its events. Memory is bounded, however long the run takes. */
export class Observer {
  readonly #started: number;
  #runId: string | undefined;
  #endedMs: number | undefined;
  readonly #latencies = new Latencies();
  readonly #slowest = new SlowestRequests();
  readonly #timeline = new TimelineBuilder();
  readonly #stages: { stage: string; startMs: number; ms: number }[] = [];
  readonly #begun = new WeakMap<object, number>();

  constructor(
    private readonly clock: Clock,
    private readonly counts: RequestCounts,
  ) {
    this.#started = clock.now();
  }

  readonly watcher: Watcher = {
    run: { start: ({ run }) => void (this.#runId = run), asyncEnd: () => void (this.#endedMs = this.#now()) },
    request: { start: (event) => void this.#begun.set(event, this.#now()), asyncEnd: (event) => this.#request(event) },
    retry: () => this.#timeline.add(this.#now(), { retries: 1 }),
    page: ({ at, rows }) => {
      if (at === undefined) this.#timeline.add(this.#now(), { rows });
    },
    read: this.#stage(({ collection, at }: OperationEvent<'read'>) => `reading ${collection}${at === undefined ? '' : ` for ${at}`}`),
    finish: this.#stage(({ at }: OperationEvent<'finish'>) => `finishing ${at}`),
    commit: this.#stage(() => 'publishing'),
  };

  observed(): Observed {
    const latency = this.#latencies.summary();
    const { total, bytes, retries } = this.counts;
    return {
      runId: this.#runId,
      durationMs: Math.round(this.#endedMs ?? this.#now()),
      requests: { total, probes: this.counts.of('probe'), bytes, retries, ...(latency && { latency }), slowest: this.#slowest.ranked },
      stages: this.#stages.map(({ stage, startMs, ms }) => ({ stage, startMs: Math.round(startMs), ms: Math.round(ms) })),
      timeline: this.#timeline.timeline(),
    };
  }

  #request(event: OperationEvent<'request'>): void {
    const ms = this.#now() - (this.#begun.get(event) ?? this.#now());
    if (event.aborted) return;
    this.#latencies.add(ms);
    this.#slowest.add(event, ms);
    this.#timeline.add(this.#now(), { requests: 1, latencyMs: ms, longestMs: ms });
  }

  /** Watches an operation as a stage of the run. */
  #stage<E extends object>(nameOf: (event: E) => string) {
    const stages = new WeakMap<object, { startMs: number; ms: number }>();
    return {
      start: (event: E) => {
        const stage = { stage: nameOf(event), startMs: this.#now(), ms: 0 };
        stages.set(event, stage);
        // A join on its own lists may read any number of times; no one reads that many stages.
        if (this.#stages.length < 100) this.#stages.push(stage);
      },
      asyncEnd: (event: E) => {
        const stage = stages.get(event);
        if (stage) stage.ms = this.#now() - stage.startMs;
      },
    };
  }

  #now(): number {
    return this.clock.now() - this.#started;
  }
}
