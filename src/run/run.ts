import type { Pipeline } from '../plan/index.js';
import { limitReached, reasonOf } from '../core/index.js';
import { Attempt, type Ended } from './attempt.js';
import type { RunReport } from './report.js';
import { notify } from './notify.js';
import { checkRun, Run, type RunEnd, type RunOptions } from './start.js';

/**
 * Runs a pipeline: reads the whole collection through its steps into all sinks, checks books and gates, and publishes. Until then nothing has its final name.
 * After a failure everything is as it was, and the pages that were read are kept for the next run.
 *
 * @returns The report. It resolves only after publishing.
 * @throws {LeadstreamError} `E_USAGE` for invalid arguments. If nothing was published: `SourceError`, `StepError`, `SinkError`,
 * `GateError`, `E_RUN_LOCKED`, or `E_RUN_ABORTED` after `signal`.
 *
 * @example
 * const report = await runPipeline(await loadPipeline('leads.yaml'), { signal });
 * console.log(summaryOf(report));
 */
export async function runPipeline(pipeline: Pipeline, options: RunOptions = {}): Promise<RunReport> {
  checkRun(pipeline, options);
  const run = new Run(pipeline, options);
  const end = await run.events
    .during(
      'run',
      () => ({ pipeline: pipeline.name }),
      () => runStarted(pipeline, options, run),
      ({ pages, read }) => ({ pages, read }),
    )
    .then(
      (report): RunEnd => ({ report }),
      (failure: unknown): RunEnd => ({ failure }),
    );
  await notifyProgram(options, end, run);
  await notify(pipeline, run, end, options.signal);
  if ('failure' in end) throw end.failure;
  return end.report;
}

async function notifyProgram({ ended }: RunOptions, end: RunEnd, run: Run): Promise<void> {
  try {
    await ended?.(end);
  } catch (failure) {
    run.warn({ code: 'W_RUN_HOOK', message: `ended: ${reasonOf(failure)}` });
  }
}

async function runStarted(pipeline: Pipeline, options: RunOptions, run: Run): Promise<RunReport> {
  pipeline.warnings.forEach(run.warn);
  for (;;) {
    const claim = await run.claim();
    try {
      let ended: Ended = { again: { fields: undefined, lateRows: false, resumed: undefined } };
      while ('again' in ended) ended = await new Attempt(pipeline, options, run, claim, ended.again).execute();
      if ('report' in ended) return ended.report;
      // The pages that determined the day are gone now, so this happens once, unless others spool and fail in the meantime.
    } catch (failure) {
      throw limitReached(failure) ?? failure;
    } finally {
      await claim.lock.release();
    }
  }
}
