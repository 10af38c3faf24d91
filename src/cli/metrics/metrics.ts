import { access, constants, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LeadstreamError, SinkError, reasonOf } from '../../core/index.js';
import type { Watcher } from '../../index.js';
import { fixedPath, removeTemporariesOf, replaceFile, unlessMissing } from '../../store/index.js';
import type { CommandContext } from '../context.js';
import { RequestCounts } from '../request-counts.js';
import type { Sample } from './definitions.js';
import { RunRecorder, type RunEnd } from './recorder.js';
import { samplesIn, textOf } from './text.js';

/** The metrics of a command, for `--metrics`. */
export interface Metrics {
  /** Measures a run of a pipeline from now on. @returns Who has to watch it for that. */
  watchers(pipeline: string, counts: RequestCounts): readonly Watcher[];
  /** Whether the file was there, with metrics. */
  readonly known: boolean;
  /** Takes the end of that run, and puts its metrics in place: what ends the command later does not take them away. */
  ended(pipeline: string, end: RunEnd): Promise<void>;
  /** Takes that a pipeline was not run, since the command was to end with that exit code, and puts that in place. What its last run did stays. */
  notRun(pipeline: string, exit: number): Promise<void>;
  /** Takes what the command is to run: what it does not come to has its exit code in the end. */
  expect(pipelines: readonly string[]): void;
  /** Puts them in place. That it cannot is a warning. */
  write(exit: number): Promise<void>;
}

/** For a command that writes none. */
const none: Metrics = {
  known: false,
  watchers: () => [],
  ended: () => Promise.resolve(),
  notRun: () => Promise.resolve(),
  expect: () => {},
  write: () => Promise.resolve(),
};

/**
 * The metrics of a file that the textfile collector of the node exporter reads. What it holds of other pipelines stays, and so does the time of
 * the last success when a run fails.
 *
 * @param file Without, there are none.
 * @throws {LeadstreamError} `E_USAGE` for what is no such file, or is one of other metrics.
 * @throws {SinkError} `E_SINK_PATH` where it cannot be written.
 */
export async function openMetrics(file: string | undefined, context: CommandContext): Promise<Metrics> {
  if (file === undefined) return none;
  if (!file.endsWith('.prom'))
    throw new LeadstreamError('E_USAGE', '--metrics names a file that ends in .prom: the node exporter reads no others');
  const path = fixedPath(file, '--metrics', context.cwd);
  await removeTemporariesOf(path);
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

  /** @param command Exit code of the command; until it has one, that of the last one stays. */
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
        `the metrics were not written: --metrics ${this.file}: ${reasonOf(error)}; what was published stays, and so does the exit code`,
      );
    }
  }

  /** What runs of other pipelines left, the last success of one that failed, and all but the exit code of one that was not run. */
  #isKept({ name, labels: { pipeline } }: Sample, own: readonly Sample[]): boolean {
    if (pipeline === undefined) return false;
    if (this.#notRun.has(pipeline)) return name !== 'leadstream_run_exit_code';
    if (!this.#samples.has(pipeline)) return true;
    const isSuccess = name === 'leadstream_run_last_success_timestamp_seconds';
    return isSuccess && !own.some((sample) => sample.name === name && sample.labels['pipeline'] === pipeline);
  }
}

/** What the file holds. @throws {LeadstreamError} `E_USAGE` for one of other metrics, or of none. */
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
    `--metrics ${file}: there is a file with something else than metrics of leadstream; name another one`,
  );
}
