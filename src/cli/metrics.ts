import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { LeadstreamError, mergeWords, SinkError, reasonOf, snakeCase } from '../core/index.js';
import { fixedPath, removeTemporaries, replaceFile, unlessMissing } from '../store/index.js';
import type { CommandContext } from './command.js';
import { descriptionOf } from './failure.js';
import type { PipelineDocument } from './report-document.js';

/** A command's metrics, in a file for the textfile collector of the Prometheus node exporter. Other pipelines' metrics in it stay. */
export class Metrics {
  readonly #unreported = new Set<string>();

  /** @param values By name and labels, as in the file: no label has a character that needs escaping. */
  private constructor(
    private readonly path: string,
    private readonly console: CommandContext['console'],
    private readonly values: Map<string, string>,
  ) {}

  static async open(file: string, { cwd, console }: CommandContext): Promise<Metrics> {
    const wrong = (why: string) => new LeadstreamError('E_USAGE', `--metrics ${file}: ${why}`);
    if (!file.endsWith('.prom')) throw wrong('the name must end in .prom: the node exporter reads no other files');
    const path = fixedPath(file, '--metrics', cwd);
    await removeTemporaries(dirname(path), (name) => name === basename(path));
    try {
      const text = await readFile(path, 'utf8').catch(unlessMissing(''));
      const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
      const found = lines.map((line) => /^(leadstream_\w+(?:\{[^}]*\})?) (\S+)$/.exec(line) ?? []);
      if (found.some(([whole]) => whole === undefined)) throw wrong('it has something other than leadstream metrics; name another file');
      const metrics = new Metrics(path, console, new Map(found.map(([, key = '', value = '']) => [key, value])));
      await metrics.#save();
      return metrics;
    } catch (error) {
      throw error instanceof LeadstreamError ? error : new SinkError('E_SINK_PATH', `--metrics ${file}: ${reasonOf(error)}`);
    }
  }

  expect(pipelines: readonly string[]): void {
    for (const name of pipelines) this.#unreported.add(name);
  }

  /** For a pipeline that was not run, only the exit code changes; without publishing, the time of the last success stays. */
  async ended(pipeline: string, document: Partial<PipelineDocument>): Promise<void> {
    const { status, exit, startedAt = '', finishedAt, pages, read, sinks = [], requests } = document;
    const published = status === 'published';
    const set = (name: string, value: number | undefined, labels = '') =>
      value !== undefined && this.values.set(`leadstream_run_${name}{pipeline="${pipeline}"${labels}}`, String(value));
    this.#unreported.delete(pipeline);
    if (finishedAt !== undefined) {
      const stays = published ? 'nothing' : `leadstream_run_last_success_timestamp_seconds{pipeline="${pipeline}"}`;
      for (const key of this.values.keys()) if (key.includes(`{pipeline="${pipeline}"`) && key !== stays) this.values.delete(key);
      const endedAt = Date.parse(finishedAt) / 1000;
      set('last_timestamp_seconds', endedAt);
      if (published) set('last_success_timestamp_seconds', endedAt);
      set('duration_seconds', endedAt - Date.parse(startedAt) / 1000);
      set('pages', pages);
      set('read_rows', read);
      for (const { at, bytes, books, merged } of sinks) {
        // Unpublished rows were not written.
        const counts = Object.entries<number>({ ...books }).filter(([count]) => published || count !== 'written');
        for (const [count, rows] of counts) set('rows', rows, `,output="${at}",count="${snakeCase(count)}"`);
        for (const word of published ? mergeWords : []) set('merged_rows', merged?.[word], `,output="${at}",count="${word}"`);
        if (published) set('output_bytes', bytes, `,output="${at}"`);
      }
      for (const purpose of ['page', 'probe', 'find'] as const) set('requests', requests?.[purpose], `,purpose="${purpose}"`);
      for (const [reason, count] of Object.entries(requests?.retries ?? {})) set('retries', count, `,reason="${reason}"`);
      set('response_bytes', requests?.bytes);
    }
    set('exit_code', exit);
    await this.#write();
  }

  /** Covers the expected pipelines that it did not get to, too. */
  async end(exit: number): Promise<void> {
    for (const name of this.#unreported) await this.ended(name, { exit });
    this.values.set('leadstream_exit_code', String(exit));
    await this.#write();
  }

  /** Only warns if the file cannot be written. */
  async #write(): Promise<void> {
    await this.#save().catch((error: unknown) =>
      this.console.log('warn', `the metrics were not written: ${this.path}: ${reasonOf(error)}; what was published is unaffected`),
    );
  }

  /** Writes the file for readers of any user. */
  async #save(): Promise<void> {
    const names = new Set([...this.values.keys()].map(nameOf).toSorted());
    // Gauges: runs set them, and none accumulates.
    const blocks = [...names].map((name) => {
      const lines = [...this.values].filter(([key]) => nameOf(key) === name).map(([key, value]) => `${key} ${value}\n`);
      return `# TYPE ${name} gauge\n${lines.join('')}`;
    });
    await replaceFile(this.path, blocks.join('\n'), 0o644);
  }
}

function nameOf(key: string): string {
  return key.replace(/\{.*/, '');
}

/** Keeps the metrics of a command in a file, if it is named, also of one that fails. */
export async function withMetrics(
  file: string | undefined,
  context: CommandContext,
  work: (metrics: Metrics | undefined) => Promise<number>,
): Promise<number> {
  const metrics = file === undefined ? undefined : await Metrics.open(file, context);
  try {
    const exit = await work(metrics);
    await metrics?.end(exit);
    return exit;
  } catch (failure) {
    await metrics?.end(descriptionOf(failure).exit);
    throw failure;
  }
}
