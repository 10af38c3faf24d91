import type { MomentEvent, OperationEvent, Watcher } from '../index.js';

/** A part of a run that takes time: a list is read, a sink is finished, or the outputs are published. */
export interface Stage {
  /** Like `reading areacodes for steps[1] join`, `finishing to[0] csv` or `publishing`. */
  readonly stage: string;
  /** Milliseconds since the start of the run. */
  readonly startMs: number;
  /** How long it took; missing while it goes on. */
  ms?: number;
  /** Rows of the list read so far. */
  rows?: number;
  /** Rows that the list had in the last run. */
  readonly expected?: number | undefined;
}

/** The requests of a run: all attempts by purpose, and what became of them. */
export interface RequestCounts extends Record<OperationEvent<'request'>['purpose'], number> {
  /** Bytes of all answers, after decompression. */
  bytes: number;
  /** Attempts that were repeated, by HTTP status, or error code if there was no answer. */
  readonly retries: Record<string, number>;
  /** Milliseconds that answers took together, and the longest of them. */
  totalMs: number;
  longestMs: number;
}

const [mostStages, mostPoints] = [100, 200];

/** Observes a run through its events, for its report, its metrics and the status line. Memory is bounded, however long the run takes. */
export class Observed {
  readonly requests: RequestCounts = { page: 0, probe: 0, find: 0, bytes: 0, retries: {}, totalMs: 0, longestMs: 0 };
  /** The first hundred, in the order in which they began; stages may overlap. */
  readonly stages: Stage[] = [];
  /** Milliseconds since the start of the run, and the rows of the source that were read by then; at most 200 points. */
  progress: (readonly [ms: number, rows: number])[] = [];
  #spacingMs = 100;
  readonly #startedAt = performance.now();
  readonly #open = new Map<object, Stage>();
  readonly #inFlight = new Map<object, number>();
  #pause = { until: '', atMs: 0 };

  readonly watcher: Watcher = {
    request: {
      start: (event) => void this.#inFlight.set(event, this.#now()),
      asyncEnd: (event) => this.#answered(event),
    },
    retry: ({ delayMs, error: { code, status = code } }) => {
      this.requests.retries[status] = (this.requests.retries[status] ?? 0) + 1;
      this.#pause = { until: 'next attempt', atMs: this.#now() + delayMs };
    },
    wait: ({ delayMs }) => void (this.#pause = { until: 'end checked again', atMs: this.#now() + delayMs }),
    page: (event) => this.#page(event),
    read: this.#stage<OperationEvent<'read'>>((event) => ({ stage: readingOf(event), rows: 0, expected: event.expected })),
    finish: this.#stage<OperationEvent<'finish'>>(({ at }) => ({ stage: `finishing ${at}` })),
    commit: this.#stage(() => ({ stage: 'publishing' })),
  };

  /** The stage that is going on and began last: the source of a run waits for the other sides of its joins. */
  get current(): Stage & { readonly forMs: number } {
    const [stage] = [...this.#open.values()].slice(-1);
    if (stage) return { ...stage, forMs: this.#now() - stage.startMs };
    return { stage: this.stages.length === 0 ? 'opening' : 'finishing', startMs: 0, forMs: 0 };
  }

  /** What the run waits for while no request is under way: the next attempt at one, or the second look at the end of a list. */
  get pause(): { readonly until: string; readonly ms: number } | undefined {
    const ms = this.#pause.atMs - this.#now();
    return ms > 0 && this.#inFlight.size === 0 ? { until: this.#pause.until, ms } : undefined;
  }

  #answered(event: OperationEvent<'request'>): void {
    const ms = this.#now() - (this.#inFlight.get(event) ?? this.#now());
    this.#inFlight.delete(event);
    this.requests[event.purpose] += 1;
    this.requests.bytes += event.bytes ?? 0;
    if (event.aborted) return;
    this.requests.totalMs += ms;
    this.requests.longestMs = Math.max(this.requests.longestMs, ms);
  }

  #page(event: MomentEvent<'page'>): void {
    const list = [...this.#open.values()].find(({ stage }) => stage === readingOf(event));
    if (list) list.rows = event.read;
    if (event.at !== undefined) return;
    const now = this.#now();
    // The last point moves until it is far enough from the one before.
    if (now - (this.progress.at(-2)?.[0] ?? -Infinity) < this.#spacingMs) this.progress.pop();
    this.progress.push([now, event.read]);
    if (this.progress.length <= mostPoints) return;
    this.progress = this.progress.filter((_, index) => index % 2 === 0);
    this.#spacingMs *= 2;
  }

  #stage<E extends object>(stageOf: (event: E) => Omit<Stage, 'startMs'>) {
    return {
      start: (event: E) => {
        const stage = { ...stageOf(event), startMs: this.#now() };
        this.#open.set(event, stage);
        if (this.stages.length < mostStages) this.stages.push(stage);
      },
      asyncEnd: (event: E) => {
        const stage = this.#open.get(event);
        if (stage) stage.ms = this.#now() - stage.startMs;
        this.#open.delete(event);
      },
    };
  }

  #now(): number {
    return Math.round(performance.now() - this.#startedAt);
  }
}

function readingOf({ collection, at }: { readonly collection: string; readonly at: string | undefined }): string {
  return at === undefined ? `reading ${collection}` : `reading ${collection} for ${at}`;
}
