import { catalogue, version } from '../core/index.js';
import type { Pipeline } from '../index.js';
import type { CommandContext } from './context.js';
import { reportFailure, descriptionOf } from './failure.js';
import { tellRefused } from './refused.js';
import type { LoadedFile } from './run-files.js';
import type { Metrics } from './metrics.js';
import type { PipelineDocument } from './report/document.js';
import { refusedRun, reportedRun, type RunFlags } from './reporting.js';

/** How a series ended. */
export interface SeriesEnd {
  readonly endings: readonly PipelineDocument[];
  /** Exit code of the failure that stopped the series, or of the first one; 0 without one. */
  readonly exit: number;
}

/** What a series needs in addition to its pipelines. */
export interface SeriesSurroundings {
  /** The files that the pipelines come from. A file that could not be loaded is a failure and comes first. */
  readonly files: readonly LoadedFile[];
  /** Names of the pipelines to run; empty for all. */
  readonly only: readonly string[];
  readonly metrics: Metrics | undefined;
  /** Receives what is known of the series before a webhook is notified. */
  early(end: SeriesEnd): Promise<void>;
}

/**
 * Runs pipelines one after another and reports each failure when it happens. A failure does not stop the others unless they would meet it too: after a signal,
 * refused credentials or wrong usage, the rest is not run. The last line lists how each ended, with the code, message and help of the failure that determined
 * the exit code.
 */
export async function runSeries(
  pipelines: readonly Pipeline[],
  context: CommandContext,
  options: RunFlags,
  { files, ...around }: SeriesSurroundings,
): Promise<SeriesEnd> {
  const { RateLimiters } = await import('../index.js');
  // Requests for one file count towards the rate limits of the next.
  const series = new Series(pipelines, context, { ...options, limiters: new RateLimiters() }, around);
  for (const file of files) if ('failure' in file) await series.skip(file);
  for (const pipeline of pipelines) await series.run(pipeline);
  return series.end();
}

class Series {
  /** Files that could not be loaded. */
  readonly #broken: (PipelineDocument & { readonly file: string })[] = [];
  readonly #endings: PipelineDocument[] = [];
  /** The failure that determined the exit code. */
  #told: ReturnType<typeof descriptionOf> | undefined;
  #exit = 0;
  #stopped = false;

  constructor(
    private readonly pipelines: readonly Pipeline[],
    private readonly context: CommandContext,
    private readonly options: RunFlags,
    private readonly around: Omit<SeriesSurroundings, 'files'>,
  ) {}

  /** Reports why a file is left out. */
  async skip({ file, failure, names }: Extract<LoadedFile, { readonly failure: unknown }>): Promise<void> {
    this.#tell(failure, undefined, false);
    const others = names.filter((name) => this.pipelines.every((pipeline) => pipeline.name !== name));
    for (const name of others) await this.around.metrics?.ended(name, descriptionOf(failure).exit);
    this.#broken.push({ ...(await refusedRun(failure, this.context)), file });
    await this.around.early(this.#endWith());
    await tellRefused(failure, this.around.only, this.context);
  }

  async run(pipeline: Pipeline): Promise<void> {
    if (this.#stopped) {
      await this.around.metrics?.ended(pipeline.name, this.#exit);
      this.#endings.push(notRun(pipeline));
      return;
    }
    const { metrics, early } = this.around;
    const { document, failure } = await reportedRun(pipeline, this.context, this.options, metrics, (known) => early(this.#endWith(known)));
    this.#endings.push(document);
    if (!failure) return;
    this.#stopped = this.#stops(descriptionOf(failure.thrown));
    this.#tell(failure.thrown, this.pipelines.length > 1 ? pipeline.name : undefined, this.#stopped);
  }

  /** The end of the series if the command got no further, with the ending of one more pipeline if given. While any pipeline is left, it is not a success. */
  #endWith(document?: PipelineDocument): SeriesEnd {
    const ended = [...this.#endings, ...(document ? [document] : [])];
    const left = this.pipelines.slice(ended.length).map(notRun);
    const { error, exit = 0 } = document ?? {};
    const gives = exit !== 0 && this.#weighsMore(error !== undefined && this.#stops(error));
    const known = gives ? exit : this.#exit;
    const endings = [...this.#broken, ...ended, ...left];
    return { endings, exit: known === 0 && left.length > 0 ? catalogue.E_RUN_FAILED.exit : known };
  }

  #tell(failure: unknown, name: string | undefined, stops: boolean): void {
    const exit = reportFailure(this.context.console, failure, name);
    if (!this.#weighsMore(stops)) return;
    this.#exit = exit;
    this.#told = descriptionOf(failure);
  }

  /** Whether a failure determines the exit code: one that stops all others outweighs one that stopped a single pipeline, and an earlier one a later one. */
  #weighsMore(stops: boolean): boolean {
    return this.#exit === 0 || stops;
  }

  /** Whether every further pipeline would meet this failure. */
  #stops({ code }: { readonly code: string }): boolean {
    return this.context.signal.aborted || stopping.includes(code);
  }

  /** Reports how all pipelines ended. */
  end(): SeriesEnd {
    const { console } = this.context;
    const names = (status: PipelineDocument['status']) =>
      this.pipelines.filter((_, index) => this.#endings[index]?.status === status).map(({ name }) => name);
    const parts = Object.entries({
      published: names('published'),
      'closed by their reader': names('closed'),
      failed: names('failed'),
      'not loaded': this.#broken.map(({ file }) => file),
      'not run': names('not_run'),
    }).filter(([, which]) => which.length > 0);
    const told = this.#told;
    const exit = this.#exit;
    const facts = { exit, ...(told && { code: told.code, error: console.redact(told.message), help: told.help }) };
    const words = parts.map(([what, which]) => `${what}: ${which.join(', ')}`).join('; ');
    console.event(exit === 0 ? 'series.finished' : 'series.failed', facts, words);
    return { endings: [...this.#broken, ...this.#endings], exit };
  }
}

function notRun({ name }: Pipeline): PipelineDocument {
  return { status: 'not_run', pipeline: name, version };
}

/** Failures that every further pipeline would meet. */
const stopping = ['E_RUN_ABORTED', 'E_SOURCE_AUTH', 'E_USAGE'];
