import { amount } from '../core/index.js';
import type { Pipeline, RunOptions, RunReport, Watcher } from '../index.js';
import { leftByReader } from './left-by-reader.js';
import type { Console } from './console.js';
import type { CommandContext } from './context.js';
import { debugLog } from './debug-log.js';
import { descriptionOf } from './failure.js';
import { RequestCounts } from './request-counts.js';

/** Options of a run that come from the command line. */
export type RunFlags = Pick<
  RunOptions,
  'stateDir' | 'restart' | 'keepFailed' | 'allowShrink' | 'allowPartial' | 'limiters' | 'profile' | 'ended'
>;

/** Further watchers of a run. */
export interface RunWatching {
  /** Counts its requests, for all watchers. Default: for the status line only. */
  readonly counts?: RequestCounts;
  readonly watching?: readonly Watcher[];
}

/** Runs a pipeline and reports on stderr what happens: what it is doing, retries, warnings, and the summary at the end. */
export async function runAndReport(
  pipeline: Pipeline,
  context: CommandContext,
  options: RunFlags = {},
  { counts = new RequestCounts(), watching = [] }: RunWatching = {},
): Promise<RunReport> {
  const { console, signal, stdout, stderr, clock } = context;
  const { failedRunOf, runPipeline, summaryOf } = await import('../index.js');
  const { createStatus } = await import('./status/status.js');
  console.hide(pipeline.secrets);
  const status = createStatus(pipeline, { console, stderr, stdout, clock, counts });
  signal.addEventListener('abort', status.end, { once: true });
  const clearing: Console = {
    ...console,
    log: (...said) => {
      status.clear();
      console.log(...said);
    },
    event: (...said) => {
      status.clear();
      console.event(...said);
    },
  };
  try {
    // Messages appear above the status line, which comes back with the next frame.
    const measuring = [...status.watchers, ...watching];
    const told = [begun(clearing), ...watchers(clearing, { retries: !status.isLive })];
    const watch = [...told, ...(measuring.length > 0 ? [counts.watcher, ...measuring] : [])];
    const report = await runPipeline(pipeline, { ...options, signal, stdout, watch }).finally(status.end);
    finished(console, report, summaryOf({ ...report, warnings: [] }).split('\n'));
    return report;
  } catch (failure) {
    const failed = failedRunOf(failure);
    if (await leftByReader(failure, pipeline)) {
      console.event('run.closed', { pipeline: pipeline.name, ...(failed && { run: failed.runId }) });
      throw failure;
    }
    const { code, exit } = descriptionOf(failure);
    const facts = { pipeline: pipeline.name, ...(failed && { run: failed.runId, keptPages: failed.keptPages }), code, exit };
    console.event('run.failed', facts, keptLine(failed?.keptPages ?? 0, options));
    throw failure;
  } finally {
    signal.removeEventListener('abort', status.end);
  }
}

/**
 * Returns watchers that report on stderr: retries and warnings, and with `--log-level debug` everything.
 *
 * @param retries Whether to report each retry. Default: true.
 */
export function watchers(console: Console, { retries = true }: { readonly retries?: boolean } = {}): readonly Watcher[] {
  const notices: Watcher = {
    ...(retries && { retry: retried(console) }),
    warning: ({ run, code, message }) => console.event('warning', { run, code }, `${code}: ${message}`),
  };
  return [notices, debugLog(console) ?? {}];
}

function retried(console: Console): NonNullable<Watcher['retry']> {
  return ({ run, url, attempt, delayMs, error: { code, message } }) =>
    console.event('request.retried', { run, code, url, attempt, delayMs }, `retry ${attempt} in ${Math.round(delayMs)} ms: ${message}`);
}

function begun(console: Console): Watcher {
  return { run: { start: ({ pipeline, run }) => console.event('run.started', { pipeline, run }) } };
}

/** Reports the end of a run with its summary, without the profile, which is for the report only. For machines, each step and output gets its own line. */
function finished(console: Console, report: RunReport, summary: readonly string[]): void {
  const { pipeline, runId: run } = report;
  for (const step of report.steps) console.event('step.finished', { pipeline, run, ...step });
  for (const { at, path, total, bytes } of report.sinks)
    if (path !== undefined) console.event('output.published', { pipeline, run, at, path, rows: total, bytes });
  // The summary leaves out the warnings, which were reported a moment ago.
  const { profile: _values, ...facts } = report;
  console.event('run.finished', { pipeline, run, report: facts }, console.format === 'json' ? summary.slice(0, 1) : summary);
}

/** Reports the pages of a failed run that are kept. */
function keptLine(pages: number, { restart }: RunFlags): readonly string[] {
  if (pages === 0) return [];
  const next = restart ? 'run it again without --restart to continue' : 'run the same command to continue';
  return [`${pages === 1 ? '1 page is' : `${amount(pages)} pages are`} kept; ${next}`];
}
