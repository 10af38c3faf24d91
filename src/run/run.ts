import type { Pipeline } from '../plan/index.js';
import { limitReached, reasonOf } from '../core/index.js';
import { BeginAgain, StaleDay, type Attempt } from './attempt.js';
import { ClaimedRun } from './claimed-run.js';
import { failedRunOf, noteFailed, type RunReport } from './report.js';
import { notify } from './notify.js';
import { checkRun, type RunEnd, type RunOptions, Run, type Claim } from './start.js';

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
  await saidTo(options, end, run);
  await notify(pipeline, run, end, options.signal);
  if ('failure' in end) throw end.failure;
  return end.report;
}

async function saidTo({ ended }: RunOptions, end: RunEnd, run: Run): Promise<void> {
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
      return await runLocked(pipeline, options, run, claim);
    } catch (failure) {
      // The pages that determined the day are gone now, so this happens once, unless others spool and fail in the meantime.
      if (!(failure instanceof StaleDay)) throw failure;
    } finally {
      await claim.lock.release();
    }
  }
}

async function runLocked(pipeline: Pipeline, options: RunOptions, run: Run, claim: Claim): Promise<RunReport> {
  let attempt: Attempt | undefined;
  for (;;) {
    try {
      return await new ClaimedRun(pipeline, options, run, claim, attempt).execute();
    } catch (failure) {
      if (!(failure instanceof BeginAgain)) throw limitReached(failure) ?? failure;
      attempt = nextAttempt(failure, attempt, pipeline, run);
    }
  }
}

/** @throws {GateError} If the run cannot start again; the report of the run is associated with that error, too. */
function nextAttempt(again: BeginAgain, before: Attempt | undefined, pipeline: Pipeline, run: Run): Attempt {
  try {
    return again.next(before, pipeline, run.warn);
  } catch (failure) {
    const report = failedRunOf(again);
    if (report) noteFailed(failure, report);
    throw failure;
  }
}
