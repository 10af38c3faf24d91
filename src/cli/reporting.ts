import type { Pipeline, RunOptions, RunReport, Watcher } from '../index.js';
import type { Console } from './console.js';
import type { CommandContext } from './context.js';
import { debugLog } from './debug-log.js';

/** What the flags of a command line say of a run. */
export type RunFlags = Pick<RunOptions, 'stateDir' | 'restart' | 'keepFailed' | 'allowShrink' | 'allowPartial'>;

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
  const clearing: Console = {
    ...console,
    log: (...said) => {
      progress.end();
      console.log(...said);
    },
  };
  // What is said stands above the line of progress, which comes back with the same page.
  const watch = [...watchers(clearing), progress.watcher];
  const report = await runPipeline(pipeline, { ...options, signal, stdout, watch }).finally(progress.end);
  // What the summary would repeat of the warnings was said a moment before.
  console.log('info', summaryOf({ ...report, warnings: [] }).split('\n'), { report });
  return report;
}

/** Who tells on stderr what happens: retries and warnings, and under `--log-level debug` everything. */
export function watchers(console: Console): readonly Watcher[] {
  const notices: Watcher = {
    retry: ({ attempt, delayMs, error }) =>
      console.log('warn', `retry ${attempt} in ${Math.round(delayMs)} ms: ${error.message}`, { code: error.code }),
    warning: ({ code, message }) => console.log('warn', `${code}: ${message}`, { code }),
  };
  return [notices, debugLog(console) ?? {}];
}
