import { amountOf, byName, type LogEvent } from '../core/index.js';
import type { Pipeline, RunOptions, RunReport, Watcher } from '../index.js';
import type { CliConsole } from './console.js';
import type { CommandContext } from './command.js';
import { descriptionOf } from './failure.js';
import { RunObserver, Status } from './status.js';

export type RunFlags = Pick<RunOptions, 'stateDir' | 'restart' | 'allowShrink' | 'allowPartial' | 'limiters' | 'sets'>;

export async function leftByReader(failure: unknown, pipeline: Pipeline | undefined): Promise<boolean> {
  const { ClosedPipeError } = await import('../index.js');
  return failure instanceof ClosedPipeError && (pipeline?.plan.sinks.every(({ definition }) => definition.prints) ?? false);
}

export async function runAndReport(
  pipeline: Pipeline,
  context: CommandContext,
  options: RunFlags = {},
  observed = new RunObserver(),
): Promise<RunReport> {
  const { console, signal, stdout, stderr } = context;
  const { failedRunOf, runPipeline, summaryOf } = await import('../index.js');
  console.hide(pipeline.secrets);
  const status = new Status(pipeline, observed, { console, stderr, stdout });
  const end = () => status.end();
  signal.addEventListener('abort', end, { once: true });
  // Messages appear above the status line, which the next frame draws again.
  const above: CliConsole = {
    ...console,
    log: (...message) => (status.clear(), console.log(...message)),
    event: (...message) => (status.clear(), console.event(...message)),
  };
  try {
    const begun: Watcher = { run: { start: ({ pipeline: name, run }) => above.event('run.started', { pipeline: name, run }) } };
    const watch = [begun, ...watchers(above, { retries: !status.isLive }), observed.watcher];
    const report = await runPipeline(pipeline, { ...options, signal, stdout, watch }).finally(end);
    const facts = { pipeline: report.pipeline, run: report.runId };
    for (const step of report.steps) console.event('step.finished', { ...facts, ...step });
    for (const { at, path, total, bytes } of report.sinks)
      if (path !== undefined) console.event('output.published', { ...facts, at, path, rows: total, bytes });
    // Machines got a line per step and output.
    const summary = summaryOf(report).split('\n');
    console.event('run.finished', { ...facts, report }, console.format === 'json' ? summary.slice(0, 1) : summary);
    return report;
  } catch (failure) {
    const { runId: run, keptPages = 0 } = failedRunOf(failure) ?? {};
    const facts = { pipeline: pipeline.name, run };
    if (await leftByReader(failure, pipeline)) console.event('run.closed', facts);
    else {
      const { code, exit } = descriptionOf(failure);
      const next = options.restart ? 'run it again without --restart to continue' : 'run the same command to continue';
      console.event('run.failed', { ...facts, keptPages, code, exit }, keptPages > 0 ? `kept ${amountOf(keptPages, 'page')}; ${next}` : []);
    }
    throw failure;
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Watchers that report on stderr: retries and warnings, and with `--log-level debug` all other events. */
export function watchers(console: CliConsole, { retries = true }: { readonly retries?: boolean } = {}): readonly Watcher[] {
  const notices: Watcher = {
    ...(retries && {
      retry: ({ run, url, attempt, delayMs, error: { code, message } }) =>
        console.event('request.retried', { run, code, url, attempt, delayMs }, `retry ${attempt} in ${Math.round(delayMs)} ms: ${message}`),
    }),
    warning: ({ run, code, message }) => console.event('warning', { run, code }, `${code}: ${message}`),
  };
  return console.level === 'debug' ? [notices, everything(console)] : [notices];
}

const moments = ['page', 'wait', 'step'] as const satisfies readonly (LogEvent & keyof Watcher)[];
const operations = ['request', 'read', 'write', 'finish', 'commit'] as const satisfies readonly (LogEvent & keyof Watcher)[];

function everything(console: CliConsole): Watcher {
  const started = new WeakMap<object, number>();
  const start = (event: object) => void started.set(event, performance.now());
  const logged = (name: LogEvent) => (event: object) => {
    const begun = started.get(event);
    const facts = { ...event, ...(begun !== undefined && { ms: Math.round(performance.now() - begun) }) };
    const words = Object.entries(facts).flatMap(([key, value]) =>
      value === undefined || key === 'run' ? [] : [`${key}=${JSON.stringify(value)}`],
    );
    console.event(name, facts, `${name} ${words.join(' ')}`);
  };
  return { ...byName(moments, logged), ...byName(operations, (name) => ({ start, asyncEnd: logged(name) })) };
}
