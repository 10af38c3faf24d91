import type { Pipeline, RetryNotice, RunOptions, RunReport } from '../index.js';
import type { Console } from './console.js';
import type { CommandContext } from './context.js';

/** What the flags of a command line say of a run. */
export type RunFlags = Pick<RunOptions, 'stateDir' | 'restart' | 'keepFailed' | 'allowShrink'>;

/** Runs a pipeline and tells on stderr what happens: progress, retries, warnings, and in the end the summary. */
export async function runAndReport(
  pipeline: Pipeline,
  { console, signal, stdout, stderr }: CommandContext,
  options: RunFlags = {},
): Promise<RunReport> {
  const { runPipeline, summaryOf } = await import('../index.js');
  const { createProgress } = await import('./progress.js');
  console.hide(pipeline.secrets);
  const progress = createProgress(console, pipeline, stderr, stdout);
  const report = await runPipeline(pipeline, {
    ...options,
    signal,
    stdout,
    onProgress: (made) => {
      progress.show(made);
      console.log('debug', `page ${made.pages}, ${made.rows} rows read`);
    },
    onRetry: (notice) => {
      progress.end();
      reportRetry(console, notice);
    },
    onWarning: ({ code, message }) => {
      progress.end();
      console.log('warn', `${code}: ${message}`, { code });
    },
  }).finally(progress.end);
  console.log('info', summaryOf(report).split('\n'), { report });
  return report;
}

/** Tells that an attempt failed and will be repeated. */
export function reportRetry(console: Console, { error, attempt, delayMs }: RetryNotice): void {
  console.log('warn', `retry ${attempt} in ${Math.round(delayMs)} ms: ${error.message}`, { code: error.code });
}
