import { amountOf, catalogue, version } from '../core/index.js';
import type { Pipeline, RunOptions, RunReport, Watcher } from '../index.js';
import type { CommandContext } from './command.js';
import type { CliConsole } from './console.js';
import { reportFailure, descriptionOf } from './failure.js';
import type { Metrics } from './metrics.js';
import type { ReportFiles } from './report.js';
import { documentOf, type PipelineDocument } from './report-document.js';
import { RunObserver, Status } from './status.js';
import { watchers } from './watchers.js';

type RunFlags = Pick<RunOptions, 'stateDir' | 'restart' | 'allowShrink' | 'allowPartial' | 'acceptDeletes' | 'waitMs' | 'part'>;

export interface BrokenFile {
  readonly file: string;
  readonly failure: unknown;
}

interface SeriesSurroundings {
  readonly broken: readonly BrokenFile[];
  readonly metrics?: Metrics | undefined;
  readonly report?: ReportFiles;
  /** How many run at a time. Default 1. */
  readonly parallel?: number;
}

/**
 * Runs pipelines one after another, or some at a time, but those that read the same list never together. A failure stops the others only
 * if they would meet it too (a signal, refused credentials, wrong usage), and then determines the exit code; otherwise the first does.
 */
export async function runSeries(
  pipelines: readonly Pipeline[],
  context: CommandContext,
  options: RunFlags = {},
  around: SeriesSurroundings = { broken: [] },
): Promise<number> {
  const { listsOf, RateLimiters, TableSets } = await import('../index.js');
  const sets = new TableSets(pipelines);
  // A file's requests count towards the rate limits of the next.
  const series = new Series(pipelines, context, { ...options, limiters: new RateLimiters(), sets }, around);
  await series.begin();
  const { parallel = 1 } = around;
  const left = new Set(pipelines);
  const running = new Set<Pipeline>();
  const ends: Promise<void>[] = [];
  let changed = () => {};
  const leave = (pipeline: Pipeline | undefined) => {
    if (pipeline) running.delete(pipeline);
    changed();
  };
  // A pipeline that waits for others' tables lets them run.
  sets.heldRun = (run) => leave(series.runs.get(run));
  while (left.size + running.size > 0) {
    const busy = [...running].flatMap(listsOf);
    const next = [...left].find((each) => running.size < parallel && !listsOf(each).some((list) => busy.includes(list)));
    if (next) {
      left.delete(next);
      running.add(next);
      const end = series.run(next).finally(() => leave(next));
      // Its failure is that of the command, once the others have ended.
      end.catch(() => {});
      ends.push(end);
    } else await new Promise<void>((resolve) => (changed = resolve));
  }
  sets.fail();
  await Promise.all(ends);
  return series.end();
}

class Series {
  /** Files that were not loaded, then the pipelines. */
  #documents: readonly PipelineDocument[] = [];
  #failure: ReturnType<typeof descriptionOf> | undefined;
  #stopped = false;
  /** By the ids of their runs. */
  readonly runs = new Map<string, Pipeline>();
  readonly #statuses = new Set<Status>();
  /** Settles when the report has all ends so far. */
  #noted = Promise.resolve();

  constructor(
    private readonly pipelines: readonly Pipeline[],
    private readonly context: CommandContext,
    private readonly options: RunOptions,
    private readonly around: SeriesSurroundings,
  ) {}

  async begin(): Promise<void> {
    const refused = this.around.broken.map(({ file, failure }) => ({ ...documentOf(undefined, this.#failed(failure)), file }));
    const left = this.pipelines.map(({ name }): PipelineDocument => ({ status: 'not_run', pipeline: name, version }));
    this.#documents = [...refused, ...left];
    if (refused.length > 0) await this.#write();
  }

  async run(pipeline: Pipeline): Promise<void> {
    if (this.#stopped) return;
    const observed = new RunObserver();
    const document = await this.#observedRun(pipeline, observed).then(
      (report) => this.#published(pipeline, report, observed),
      (failure: unknown) => {
        this.#stopped ||= this.#stops(failure);
        return this.#unpublished(pipeline, failure, observed);
      },
    );
    this.#noted = this.#noted.then(() => this.#note(pipeline.name, document));
    await this.#noted;
  }

  async #note(pipeline: string, document: PipelineDocument): Promise<void> {
    this.#documents = this.#documents.map((known) => (known.pipeline === pipeline ? document : known));
    await this.around.metrics?.ended(pipeline, document);
    if (this.#isLeft) await this.#write();
  }

  async #observedRun(pipeline: Pipeline, observed: RunObserver): Promise<RunReport> {
    const { console, signal, stdout, stderr } = this.context;
    const { runPipeline } = await import('../index.js');
    console.hide(pipeline.secrets);
    const status = new Status(pipeline, observed, { console, stderr, stdout, all: this.#statuses });
    const end = () => status.end();
    signal.addEventListener('abort', end, { once: true });
    // Messages appear above the status line, which the next frame draws again.
    const above: CliConsole = {
      ...console,
      log: (...message) => (status.clear(), console.log(...message)),
      event: (...message) => (status.clear(), console.event(...message)),
    };
    const begun: Watcher = {
      run: { start: ({ pipeline: name, run }) => (this.runs.set(run, pipeline), above.event('run.started', { pipeline: name, run })) },
    };
    const watch = [begun, ...watchers(above, { retries: !status.isLive }), observed.watcher];
    return runPipeline(pipeline, { ...this.options, signal, stdout, watch }).finally(() => {
      end();
      signal.removeEventListener('abort', end);
    });
  }

  async #published(pipeline: Pipeline, report: RunReport, observed: RunObserver): Promise<PipelineDocument> {
    const { console } = this.context;
    const { summaryOf } = await import('../index.js');
    const facts = { pipeline: report.pipeline, run: report.runId };
    for (const step of report.steps) console.event('step.finished', { ...facts, ...step });
    for (const { at, path, total, bytes } of report.sinks)
      if (path !== undefined) console.event('output.published', { ...facts, at, path, rows: total, bytes });
    // Machines got a line per step and output.
    const summary = summaryOf(report).split('\n');
    console.event('run.finished', { ...facts, report }, console.format === 'json' ? summary.slice(0, 1) : summary);
    return documentOf(pipeline, { status: 'published', exit: 0 }, report, observed);
  }

  async #unpublished(pipeline: Pipeline, failure: unknown, observed: RunObserver): Promise<PipelineDocument> {
    const { console } = this.context;
    const { ClosedPipeError, failedRunOf } = await import('../index.js');
    const report = failedRunOf(failure);
    const { runId: run, keptPages = 0 } = report ?? {};
    const facts = { pipeline: pipeline.name, run };
    // A reader of stdout that has had enough is not a failure.
    if (failure instanceof ClosedPipeError && pipeline.plan.sinks.every(({ definition }) => definition.prints)) {
      console.event('run.closed', facts);
      return documentOf(pipeline, { status: 'closed', exit: 0 }, report, observed);
    }
    const { code, exit } = descriptionOf(failure);
    const next = this.options.restart ? 'run it again without --restart to continue' : 'run the same command to continue';
    console.event('run.failed', { ...facts, keptPages, code, exit }, keptPages > 0 ? `kept ${amountOf(keptPages, 'page')}; ${next}` : []);
    return documentOf(pipeline, this.#failed(failure, pipeline.name), report, observed);
  }

  async end(): Promise<number> {
    await this.#write();
    const exit = this.#failure?.exit ?? 0;
    if (this.#isOne) return exit;
    const { console } = this.context;
    const names = (status: PipelineDocument['status']) =>
      this.#documents.flatMap((document) => (document.file === undefined && document.status === status ? [document.pipeline] : []));
    const parts = Object.entries({
      published: names('published'),
      'closed by their reader': names('closed'),
      failed: names('failed'),
      'not loaded': this.around.broken.map(({ file }) => file),
      'not run': names('not_run'),
    }).filter(([, which]) => which.length > 0);
    const { code, message = '', help } = this.#failure ?? {};
    const facts = { exit, ...(this.#failure && { code, error: console.redact(message), help }) };
    const words = parts.map(([what, which]) => `${what}: ${which.join(', ')}`).join('; ');
    console.event(exit === 0 ? 'series.finished' : 'series.failed', facts, words);
    return exit;
  }

  #failed(thrown: unknown, pipeline?: string) {
    const { console } = this.context;
    reportFailure(console, thrown, this.#isOne ? undefined : pipeline);
    const described = descriptionOf(thrown);
    const { code, message, help, exit } = described;
    const stops = pipeline !== undefined && this.#stops(thrown);
    if (stops || !this.#failure || this.#failure.code === 'E_RUN_TOGETHER') this.#failure = described;
    return { status: 'failed', exit, error: { code, message: console.redact(message), help } } as const;
  }

  /** All other pipelines would meet these. */
  #stops(thrown: unknown): boolean {
    return this.context.signal.aborted || ['E_RUN_ABORTED', 'E_SOURCE_AUTH', 'E_USAGE'].includes(descriptionOf(thrown).code);
  }

  get #isOne(): boolean {
    return this.pipelines.length + this.around.broken.length === 1;
  }

  get #isLeft(): boolean {
    return this.#documents.some(({ status }) => status === 'not_run');
  }

  /** Writes how the series ends if the command gets no further. Pipelines that are left make it no success. */
  async #write(): Promise<void> {
    const pipelines = this.#documents;
    const [only] = pipelines;
    if (this.#isOne && only) return this.around.report?.write(only);
    const exit = this.#failure?.exit ?? (this.#isLeft ? catalogue.E_RUN_FAILED.exit : 0);
    await this.around.report?.write({ status: exit === 0 ? 'published' : 'failed', version, exit, pipelines });
  }
}
