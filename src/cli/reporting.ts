import { amount } from '../core/index.js';
import type { Pipeline, RunOptions, RunReport, Watcher } from '../index.js';
import { leftByReader } from './left-by-reader.js';
import type { Console } from './console.js';
import type { CommandContext } from './context.js';
import { debugLog } from './debug-log.js';
import { descriptionOf } from './failure.js';
import { RequestCounts } from './request-counts.js';

/** What the flags of a command line say of a run. */
export type RunFlags = Pick<
  RunOptions,
  'stateDir' | 'restart' | 'keepFailed' | 'allowShrink' | 'allowPartial' | 'limiters' | 'profile' | 'ended'
>;

/** Who else watches a run. */
export interface RunWatching {
  /** Counts its requests, for all of them. Default: for the line of the status alone. */
  readonly counts?: RequestCounts;
  readonly watching?: readonly Watcher[];
}

/** Runs a pipeline and tells on stderr what happens: what it is doing, retries, warnings, and in the end the summary. */
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
    // What is said stands above the line of the status, which comes back with the next frame.
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
 * Who tells on stderr what happens: retries and warnings, and under `--log-level debug` everything.
 *
 * @param retries Whether each retry is told. Default true.
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

/** Ends with what the summary says, without the profile, which is for the report alone; of what the report has of steps and outputs, machines are told in lines of their own. */
function finished(console: Console, report: RunReport, summary: readonly string[]): void {
  const { pipeline, runId: run } = report;
  for (const step of report.steps) console.event('step.finished', { pipeline, run, ...step });
  for (const { at, path, total, bytes } of report.sinks)
    if (path !== undefined) console.event('output.published', { pipeline, run, at, path, rows: total, bytes });
  // What the summary would repeat of the warnings was said a moment before.
  const { profile: _values, ...facts } = report;
  console.event('run.finished', { pipeline, run, report: facts }, console.format === 'json' ? summary.slice(0, 1) : summary);
}

/** What of a run that failed is not lost. */
function keptLine(pages: number, { restart }: RunFlags): readonly string[] {
  if (pages === 0) return [];
  const next = restart ? 'run it again without --restart to go on' : 'run the same command to go on';
  return [`${pages === 1 ? '1 page is' : `${amount(pages)} pages are`} kept; ${next}`];
}
