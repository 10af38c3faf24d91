import { amount, amountOf, printable } from '../core/index.js';
import type { Pipeline, OperationEvent, Watcher } from '../index.js';
import type { CliConsole, OutputStream } from './console.js';

interface Stage {
  /** Like `reading areacodes for steps[1] join`, `finishing to[0] csv` or `publishing`. */
  readonly stage: string;
  readonly startMs: number;
  ms?: number;
  /** Rows of the list read so far, and those of the last run. */
  rows?: number;
  readonly expected?: number | undefined;
}

/** All attempts by purpose, and their results. */
interface RequestCounts extends Record<OperationEvent<'request'>['purpose'], number> {
  /** After decompression. */
  bytes: number;
  /** By HTTP status, or by error code without a response. */
  readonly retries: Record<string, number>;
}

const mostStages = 100;

/** For the report, the metrics and the status line. Memory is bounded, however long the run takes. */
export class RunObserver {
  readonly requests: RequestCounts = { page: 0, probe: 0, find: 0, bytes: 0, retries: {} };
  /** The first hundred, in the order of their begin; stages may overlap. */
  readonly stages: Stage[] = [];
  readonly #startedAt = performance.now();
  readonly #open = new Map<object, Stage>();

  readonly watcher: Watcher = {
    request: {
      asyncEnd: ({ purpose, bytes = 0 }) => {
        this.requests[purpose] += 1;
        this.requests.bytes += bytes;
      },
    },
    retry: ({ error: { code, status = code } }) => {
      this.requests.retries[status] = (this.requests.retries[status] ?? 0) + 1;
    },
    page: (event) => {
      const list = [...this.#open.values()].find(({ stage }) => stage === readingOf(event));
      if (list) list.rows = event.read;
    },
    read: this.#stage<OperationEvent<'read'>>((event) => ({ stage: readingOf(event), rows: 0, expected: event.expected })),
    finish: this.#stage<OperationEvent<'finish'>>(({ at }) => ({ stage: `finishing ${at}` })),
    commit: this.#stage(() => ({ stage: 'publishing' })),
  };

  /** The active stage that began last: a run's source waits for the other sides of its joins. */
  get current(): Stage & { readonly forMs: number } {
    const [stage] = [...this.#open.values()].slice(-1);
    if (stage) return { ...stage, forMs: this.#now() - stage.startMs };
    return { stage: this.stages.length === 0 ? 'opening' : 'finishing', startMs: 0, forMs: 0 };
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

const [frameMs, heartbeatMs] = [125, 30_000];

interface StatusPlace {
  readonly console: Pick<CliConsole, 'level' | 'format' | 'event'>;
  readonly stderr: OutputStream;
  readonly stdout: Pick<OutputStream, 'isTTY'>;
  /** Those of all current runs, which share the line. Default: only this one. */
  readonly all?: Set<Status>;
}

/** What a run does, as a changing line on a terminal, elsewhere as a message every half minute. */
export class Status {
  /** Whether there is a changing line, which counts retries itself. */
  readonly isLive: boolean;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #stderr: OutputStream;
  readonly #all: Set<Status>;
  readonly #text: () => string;
  #line = '';

  constructor(
    { name, plan }: Pick<Pipeline, 'name' | 'plan'>,
    observed: RunObserver,
    { console, stderr, stdout, all = new Set() }: StatusPlace,
  ) {
    // Rows printed on the same terminal show the progress.
    const isPrinted = stdout.isTTY === true && plan.sinks.some(({ definition }) => definition.prints);
    const isWanted = !isPrinted && (console.level === 'info' || console.level === 'debug');
    this.isLive = isWanted && stderr.isTTY === true && console.format === 'text';
    this.#stderr = stderr;
    this.#all = all.add(this);
    this.#text = () => `${name}: ${statusLine(observed)}`;
    const draw = () => {
      const [first] = all;
      const texts = [...all].map((status) => (status.isLive ? status.#text() : ''));
      // Rows of another run may be printed there. Some terminals go to the next line after the last column.
      if (first === this && !texts.includes('')) this.#show(printable(texts.join('; ')).slice(0, (stderr.columns ?? 80) - 1));
    };
    const report = () => {
      const { stage: doing, rows, expected } = observed.current;
      const { bytes, retries } = observed.requests;
      const facts = { pipeline: name, doing, rows, expected, bytes, retries: sum(retries) };
      console.event('run.progress', facts, `${name}: ${statusLine(observed)}`);
    };
    if (this.isLive) draw();
    this.#timer = isWanted ? setInterval(this.isLive ? draw : report, this.isLive ? frameMs : heartbeatMs).unref() : undefined;
  }

  /** Clears the line for a message; the next frame draws it again. */
  clear(): void {
    for (const status of this.#all) status.#show('');
  }

  end(): void {
    clearInterval(this.#timer);
    this.#show('');
    this.#all.delete(this);
  }

  /** Overwrites the last line in one write, without flicker. The cursor stays visible: a killed process could not show it again. */
  #show(line: string): void {
    if (line !== this.#line) this.#stderr.write(`\r${line}\u001b[K`);
    this.#line = line;
  }
}

function statusLine({ current, requests }: RunObserver): string {
  const { stage, rows, expected = 0, forMs } = current;
  const retries = sum(requests.retries);
  const share = rows && rows <= expected ? ` (${Math.floor((100 * rows) / expected)}%)` : '';
  const parts = [
    stage,
    ...(rows === undefined ? [] : [`${amountOf(rows, 'row')}${share}`]),
    // Half a second is too short to measure a rate.
    ...(rows && forMs >= 500 ? [`${amount(Math.round((1000 * rows) / forMs))} rows/s`] : []),
    ...(requests.bytes > 0 ? [`${(requests.bytes / 1e6).toFixed(1)} MB`] : []),
    ...(retries > 0 ? [amountOf(retries, 'retry', 'retries')] : []),
  ];
  return parts.join(', ');
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
