import { access, constants, readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { LeadstreamError, SinkError, reasonOf } from '../../core/index.js';
import type { Watcher } from '../../index.js';
import { fixedPath, removeTemporaries, replaceFile, unlessMissing } from '../../store/index.js';
import type { CommandContext } from '../context.js';
import { RequestCounts } from '../request-counts.js';
import type { Sample } from './definitions.js';
import { RunRecorder, type RunEnd } from './recorder.js';
import { samplesIn, textOf } from './text.js';

/** The metrics of a command, for `--metrics`. */
export interface Metrics {
  /** Measures a run of a pipeline from now on. @returns The watchers that the run needs for that. */
  watchers(pipeline: string, counts: RequestCounts): readonly Watcher[];
  /** Whether the file already existed, with metrics in it. */
  readonly known: boolean;
  /** Records the end of that run and writes its metrics, so that they survive whatever ends the command later. */
  ended(pipeline: string, end: RunEnd): Promise<void>;
  /** Records that a pipeline was not run because the command was to end with that exit code, and writes that. The metrics of its last run stay. */
  notRun(pipeline: string, exit: number): Promise<void>;
  /** Announces the pipelines to run. Those that the command never reaches get its exit code in the end. */
  expect(pipelines: readonly string[]): void;
  /** Writes the metrics. If they cannot be written, it warns. */
  write(exit: number): Promise<void>;
}

/** The metrics of a command that writes none. */
const none: Metrics = {
  known: false,
  watchers: () => [],
  ended: () => Promise.resolve(),
  notRun: () => Promise.resolve(),
  expect: () => {},
  write: () => Promise.resolve(),
};

/**
 * Opens a metrics file for the textfile collector of the node exporter. Metrics of other pipelines in it stay, and so does the time of the last success when a
 * run fails.
 *
 * @param file Without one, there are no metrics.
 * @throws {LeadstreamError} `E_USAGE` for anything that is not such a file, or has other metrics in it.
 * @throws {SinkError} `E_SINK_PATH` if it cannot be written.
 */
export async function openMetrics(file: string | undefined, context: CommandContext): Promise<Metrics> {
  if (file === undefined) return none;
  if (!file.endsWith('.prom'))
    throw new LeadstreamError('E_USAGE', '--metrics must name a file that ends in .prom: the node exporter reads no others');
  const path = fixedPath(file, '--metrics', context.cwd);
  await removeTemporaries(dirname(path), (name) => name === basename(path));
  const known = (await earlier(path, file)).length > 0;
  await access(dirname(path), constants.W_OK).catch((error: unknown) => {
    throw new SinkError('E_SINK_PATH', `--metrics ${file}: ${reasonOf(error)}`);
  });
  return new MetricsFile(path, file, known, context);
}

class MetricsFile implements Metrics {
  readonly #recorders = new Map<string, RunRecorder>();
  readonly #samples = new Map<string, readonly Sample[]>();
  readonly #notRun = new Map<string, Sample>();
  #expected: readonly string[] = [];

  constructor(
    private readonly path: string,
    private readonly file: string,
    readonly known: boolean,
    private readonly context: CommandContext,
  ) {}

  watchers(pipeline: string, counts: RequestCounts): readonly Watcher[] {
    const recorder = new RunRecorder(pipeline, counts);
    this.#recorders.set(pipeline, recorder);
    return [recorder.watcher];
  }

  async ended(pipeline: string, end: RunEnd): Promise<void> {
    const recorder = this.#recorders.get(pipeline) ?? new RunRecorder(pipeline, new RequestCounts());
    this.#samples.set(pipeline, recorder.samples(end, Date.now()));
    await this.#write(undefined);
  }

  async notRun(pipeline: string, exit: number): Promise<void> {
    this.#miss(pipeline, exit);
    await this.#write(undefined);
  }

  expect(pipelines: readonly string[]): void {
    this.#expected = pipelines;
  }

  write(exit: number): Promise<void> {
    for (const name of this.#expected) if (!this.#samples.has(name) && !this.#notRun.has(name)) this.#miss(name, exit);
    return this.#write({ name: 'leadstream_exit_code', labels: {}, value: exit });
  }

  #miss(pipeline: string, exit: number): void {
    this.#notRun.set(pipeline, { name: 'leadstream_run_exit_code', labels: { pipeline }, value: exit });
  }

  /** @param command Exit code of the command. Until it has one, the last one stays. */
  async #write(command: Sample | undefined): Promise<void> {
    try {
      const before = await earlier(this.path, this.file);
      const own = [...this.#samples.values(), ...this.#notRun.values()].flat();
      const kept = before.filter((sample) => (sample.name === 'leadstream_exit_code' ? !command : this.#isKept(sample, own)));
      const text = await textOf([...(command ? [command] : []), ...kept, ...own]);
      await replaceFile(this.path, text, { mode: 0o644, exactly: true });
    } catch (error) {
      this.context.console.log(
        'warn',
        `the metrics were not written: --metrics ${this.file}: ${reasonOf(error)}; what was published and the exit code are unaffected`,
      );
    }
  }

  /**
   * Whether an earlier sample stays: those of other pipelines, the last success of a pipeline that failed, and all but the exit code of one that was not run.
   */
  #isKept({ name, labels: { pipeline } }: Sample, own: readonly Sample[]): boolean {
    if (pipeline === undefined) return false;
    if (this.#notRun.has(pipeline)) return name !== 'leadstream_run_exit_code';
    if (!this.#samples.has(pipeline)) return true;
    const isSuccess = name === 'leadstream_run_last_success_timestamp_seconds';
    return isSuccess && !own.some((sample) => sample.name === name && sample.labels['pipeline'] === pipeline);
  }
}

/** Reads the metrics in the file. @throws {LeadstreamError} `E_USAGE` if it contains other metrics, or anything else. */
async function earlier(path: string, file: string): Promise<readonly Sample[]> {
  const text = await readFile(path, 'utf8')
    .catch(unlessMissing(''))
    .catch((error: unknown) => {
      throw new SinkError('E_SINK_PATH', `--metrics ${file}: ${reasonOf(error)}`);
    });
  const samples = samplesIn(text);
  if (samples) return samples;
  throw new LeadstreamError(
    'E_USAGE',
    `--metrics ${file}: the existing file has something other than leadstream metrics; name another one`,
  );
}
