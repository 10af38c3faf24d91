import { catalogue, SpecError, version } from '../core/index.js';
import type { LoadOptions, Pipeline } from '../index.js';
import type { CommandContext } from './command.js';
import { reportFailure, descriptionOf } from './failure.js';
import type { Metrics } from './metrics.js';
import type { PipelineDocument, ReportDocument } from './report.js';
import { refusedRun, reportedRun, type RunFlags } from './reporting.js';

/** A pipeline file, or why it could not be loaded. */
export type LoadedFile =
  | { readonly file: string; readonly pipelines: readonly Pipeline[] }
  /** `names`: the pipelines in it that are to run, as far as they can be made out. */
  | { readonly file: string; readonly failure: unknown; readonly names: readonly string[] };

/**
 * Loads all files, so that every problem is reported before the first request. A bad file does not keep the others from loading.
 *
 * @param isWanted Whether a pipeline of that name is to run.
 */
export async function loadFiles(
  files: readonly string[],
  options: LoadOptions,
  isWanted: (pipeline: string) => boolean,
): Promise<readonly LoadedFile[]> {
  const { loadPipelines } = await import('../index.js');
  const loaded: LoadedFile[] = [];
  for (const file of files) {
    try {
      loaded.push({ file, pipelines: await loadPipelines(file, options) });
    } catch (failure) {
      const names = failure instanceof SpecError ? failure.pipelines : [];
      loaded.push({ file, failure, names: names.filter(isWanted) });
    }
  }
  return loaded;
}

/** What a series needs in addition to its pipelines. */
export interface SeriesSurroundings {
  /** The files that the pipelines come from. A file that could not be loaded is a failure and comes first. */
  readonly files: readonly LoadedFile[];
  readonly metrics: Metrics | undefined;
  /** Receives what is known of the series: before a webhook is notified, which may take longer than whatever stopped the run will wait, and at the end. */
  write(document: ReportDocument): Promise<void>;
}

/**
 * Runs pipelines one after another and reports each failure when it happens. A failure does not stop the others unless they would meet it too: after a signal,
 * refused credentials or wrong usage, the rest is not run. Of several, the last line lists how each ended, with the code, message and help of the failure that
 * determined the exit code.
 *
 * @returns The exit code: that of the failure that stopped the series, or of the first one; 0 without one.
 */
export async function runSeries(
  pipelines: readonly Pipeline[],
  context: CommandContext,
  options: RunFlags,
  around: SeriesSurroundings,
): Promise<number> {
  const { RateLimiters } = await import('../index.js');
  // Requests for one file count towards the rate limits of the next.
  const series = new Series(pipelines, context, { ...options, limiters: new RateLimiters() }, around);
  for (const file of around.files) if ('failure' in file) await series.skip(file);
  for (const pipeline of pipelines) await series.run(pipeline);
  return series.end();
}

class Series {
  /** Files that could not be loaded. */
  readonly #broken: (PipelineDocument & { readonly file: string })[] = [];
  readonly #endings: PipelineDocument[] = [];
  /** The failure that determines the exit code. */
  #failure: ReturnType<typeof descriptionOf> | undefined;
  #stopped = false;

  constructor(
    private readonly pipelines: readonly Pipeline[],
    private readonly context: CommandContext,
    private readonly options: RunFlags,
    private readonly around: SeriesSurroundings,
  ) {}

  /** Reports why a file is left out. */
  async skip({ file, failure, names }: Extract<LoadedFile, { readonly failure: unknown }>): Promise<void> {
    const { console } = this.context;
    const { metrics } = this.around;
    const exit = reportFailure(console, failure);
    this.#failure ??= descriptionOf(failure);
    const others = names.filter((name) => this.pipelines.every((pipeline) => pipeline.name !== name));
    for (const name of others) await metrics?.ended(name, exit);
    this.#broken.push({ ...(await refusedRun(failure, this.context)), file });
    await this.#write();
  }

  async run(pipeline: Pipeline): Promise<void> {
    const { metrics } = this.around;
    if (this.#stopped) {
      await metrics?.ended(pipeline.name, this.#exit);
      this.#endings.push(notRun(pipeline));
      return;
    }
    const { document, failure } = await reportedRun(pipeline, this.context, this.options, metrics, (known) => this.#write(known));
    this.#endings.push(document);
    if (!failure) return;
    reportFailure(this.context.console, failure.thrown, this.#isOne ? undefined : pipeline.name);
    const described = descriptionOf(failure.thrown);
    this.#stopped = this.#stops(described);
    if (this.#stopped || !this.#failure) this.#failure = described;
  }

  /** Reports how all pipelines ended. @returns The exit code. */
  async end(): Promise<number> {
    await this.#write();
    const { console } = this.context;
    const exit = this.#exit;
    if (this.#isOne) return exit;
    const names = (status: PipelineDocument['status']) =>
      this.pipelines.filter((_, index) => this.#endings[index]?.status === status).map(({ name }) => name);
    const parts = Object.entries({
      published: names('published'),
      'closed by their reader': names('closed'),
      failed: names('failed'),
      'not loaded': this.#broken.map(({ file }) => file),
      'not run': names('not_run'),
    }).filter(([, which]) => which.length > 0);
    const { code, message = '', help } = this.#failure ?? {};
    const facts = { exit, ...(this.#failure && { code, error: console.redact(message), help }) };
    const words = parts.map(([what, which]) => `${what}: ${which.join(', ')}`).join('; ');
    console.event(exit === 0 ? 'series.finished' : 'series.failed', facts, words);
    return exit;
  }

  get #exit(): number {
    return this.#failure?.exit ?? 0;
  }

  /** Whether there is only one pipeline, which is reported by itself. */
  get #isOne(): boolean {
    return this.pipelines.length + this.around.files.filter((file) => 'failure' in file).length === 1;
  }

  /** Writes how the series ends if the command gets no further. While any pipeline is left, it is not a success. */
  async #write(current?: PipelineDocument): Promise<void> {
    const ended = [...this.#broken, ...this.#endings, ...(current ? [current] : [])];
    const left = this.pipelines.slice(ended.length - this.#broken.length).map(notRun);
    const pipelines = [...ended, ...left];
    const [only] = pipelines;
    if (this.#isOne && only) return this.around.write(only);
    const { error, exit: currentExit = 0 } = current ?? {};
    const isDecisive = currentExit !== 0 && (this.#exit === 0 || (error !== undefined && this.#stops(error)));
    const known = isDecisive ? currentExit : this.#exit;
    const exit = known === 0 && left.length > 0 ? catalogue.E_RUN_FAILED.exit : known;
    await this.around.write({ status: exit === 0 ? 'published' : 'failed', version, exit, pipelines });
  }

  /** Whether every further pipeline would meet this failure. */
  #stops({ code }: { readonly code: string }): boolean {
    return this.context.signal.aborted || ['E_RUN_ABORTED', 'E_SOURCE_AUTH', 'E_USAGE'].includes(code);
  }
}

function notRun({ name }: Pipeline): PipelineDocument {
  return { status: 'not_run', pipeline: name, version };
}
