import { amount, type LogEvent } from '../core/index.js';
import type { Pipeline, RunEnd, RunOptions, RunReport, Watcher } from '../index.js';
import type { Console } from './console.js';
import type { CommandContext } from './command.js';
import { descriptionOf } from './failure.js';
import type { Metrics } from './metrics.js';
import { Observed, startStatus } from './status.js';
import { documentOf, type PipelineDocument } from './report.js';

/** Options of a run that come from the command line. */
export type RunFlags = Pick<RunOptions, 'stateDir' | 'restart' | 'allowShrink' | 'allowPartial' | 'limiters' | 'ended'>;

/** How the run of one pipeline ended. */
export interface ReportedRun {
  readonly document: PipelineDocument;
  /** What it failed with, if it did. A run that only prints does not fail when its reader has had enough. */
  readonly failure?: { readonly thrown: unknown };
}

/**
 * Runs a pipeline, reports on stderr what happens, and returns what a report contains about it, however it ends.
 *
 * @param early Receives the document before a webhook is notified, which may take longer than whatever stopped the run will wait.
 */
export async function reportedRun(
  pipeline: Pipeline,
  context: CommandContext,
  flags: RunFlags,
  metrics: Metrics | undefined,
  early: (document: PipelineDocument) => Promise<void>,
): Promise<ReportedRun> {
  const observed = new Observed();
  const { failedRunOf } = await import('../index.js');
  const documented = async (end: RunEnd): Promise<ReportedRun> => {
    const how = 'report' in end ? ({ status: 'published', exit: 0 } as const) : await endOf(end.failure, pipeline, context);
    const document = documentOf(pipeline, { ...how, report: 'report' in end ? end.report : failedRunOf(end.failure), observed });
    await metrics?.ended(pipeline.name, how.exit, document);
    return how.status === 'failed' && 'failure' in end ? { document, failure: { thrown: end.failure } } : { document };
  };
  const ended = async (end: RunEnd) => {
    if (pipeline.hooks['report' in end ? 'on_success' : 'on_failure']) await early((await documented(end)).document);
  };
  try {
    return await documented({ report: await runAndReport(pipeline, context, { ...flags, ended }, observed) });
  } catch (failure) {
    return documented({ failure });
  }
}

/** Returns what a report contains about a pipeline that was not run because its file or its options are wrong. */
export async function refusedRun(thrown: unknown, context: CommandContext): Promise<PipelineDocument> {
  return documentOf(undefined, await endOf(thrown, undefined, context));
}

/** Describes how a run ended without publishing. */
async function endOf(thrown: unknown, pipeline: Pipeline | undefined, { console }: CommandContext) {
  if (await leftByReader(thrown, pipeline)) return { status: 'closed', exit: 0 } as const;
  const { code, message, help, exit } = descriptionOf(thrown);
  return { status: 'failed', exit, error: { code, message: console.redact(message), help } } as const;
}

/** Whether a run ended because its reader had had enough, which is not a failure of a pipeline that only prints. */
async function leftByReader(failure: unknown, pipeline: Pipeline | undefined): Promise<boolean> {
  const { ClosedPipeError } = await import('../index.js');
  return failure instanceof ClosedPipeError && (pipeline?.plan.sinks.every(({ definition }) => definition.name === 'stdout') ?? false);
}

/** Runs a pipeline and reports on stderr what happens: what it is doing, retries, warnings, and the summary at the end. */
export async function runAndReport(
  pipeline: Pipeline,
  context: CommandContext,
  options: RunFlags = {},
  observed = new Observed(),
): Promise<RunReport> {
  const { console, signal, stdout, stderr } = context;
  const { failedRunOf, runPipeline, summaryOf } = await import('../index.js');
  console.hide(pipeline.secrets);
  const status = startStatus(pipeline, observed, { console, stderr, stdout });
  signal.addEventListener('abort', status.end, { once: true });
  // Messages appear above the status line, which comes back with the next frame.
  const above: Console = {
    ...console,
    log: (...said) => (status.clear(), console.log(...said)),
    event: (...said) => (status.clear(), console.event(...said)),
  };
  try {
    const begun: Watcher = { run: { start: ({ pipeline: name, run }) => above.event('run.started', { pipeline: name, run }) } };
    const watch = [begun, ...watchers(above, { retries: !status.isLive }), observed.watcher];
    const report = await runPipeline(pipeline, { ...options, signal, stdout, watch }).finally(status.end);
    finished(console, report, summaryOf({ ...report, warnings: [] }).split('\n'));
    return report;
  } catch (failure) {
    const { runId: run, keptPages = 0 } = failedRunOf(failure) ?? {};
    const facts = { pipeline: pipeline.name, run };
    if (await leftByReader(failure, pipeline)) console.event('run.closed', facts);
    else {
      const { code, exit } = descriptionOf(failure);
      console.event('run.failed', { ...facts, keptPages, code, exit }, keptLine(keptPages, options));
    }
    throw failure;
  } finally {
    signal.removeEventListener('abort', status.end);
  }
}

/** Reports the end of a run with its summary. For machines, each step and output gets its own line. */
function finished(console: Console, report: RunReport, summary: readonly string[]): void {
  const { pipeline, runId: run } = report;
  for (const step of report.steps) console.event('step.finished', { pipeline, run, ...step });
  for (const { at, path, total, bytes } of report.sinks)
    if (path !== undefined) console.event('output.published', { pipeline, run, at, path, rows: total, bytes });
  // The summary leaves out the warnings, which were reported a moment ago.
  console.event('run.finished', { pipeline, run, report }, console.format === 'json' ? summary.slice(0, 1) : summary);
}

/** Reports the pages of a failed run that are kept. */
function keptLine(pages: number, { restart }: RunFlags): readonly string[] {
  if (pages === 0) return [];
  const next = restart ? 'run it again without --restart to continue' : 'run the same command to continue';
  return [`${pages === 1 ? '1 page is' : `${amount(pages)} pages are`} kept; ${next}`];
}

/**
 * Returns watchers that report on stderr: retries and warnings, and with `--log-level debug` every other event in the fields that it has.
 *
 * @param retries Whether to report each retry. Default: true.
 */
export function watchers(console: Console, { retries = true }: { readonly retries?: boolean } = {}): readonly Watcher[] {
  const notices: Watcher = {
    ...(retries && {
      retry: ({ run, url, attempt, delayMs, error: { code, message } }) =>
        console.event('request.retried', { run, code, url, attempt, delayMs }, `retry ${attempt} in ${Math.round(delayMs)} ms: ${message}`),
    }),
    warning: ({ run, code, message }) => console.event('warning', { run, code }, `${code}: ${message}`),
  };
  return console.level === 'debug' ? [notices, everything(console)] : [notices];
}

function everything(console: Console): Watcher {
  const started = new WeakMap<object, number>();
  const start = (event: object) => void started.set(event, performance.now());
  const said = (name: Extract<LogEvent, keyof Watcher>) => (event: object) => {
    const begun = started.get(event);
    const facts = { ...event, ...(begun !== undefined && { ms: Math.round(performance.now() - begun) }) };
    const words = Object.entries(facts).flatMap(([key, value]) =>
      value === undefined || key === 'run' ? [] : [`${key}=${JSON.stringify(value)}`],
    );
    console.event(name, facts, `${name} ${words.join(' ')}`);
  };
  const operation = (name: Extract<LogEvent, keyof Watcher>) => ({ start, asyncEnd: said(name) });
  return {
    ...{ page: said('page'), wait: said('wait'), step: said('step') },
    ...{ request: operation('request'), read: operation('read'), write: operation('write') },
    ...{ finish: operation('finish'), commit: operation('commit') },
  };
}
