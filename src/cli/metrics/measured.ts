import type { Pipeline, RunReport, Watcher } from '../../index.js';
import { leftByReader } from '../closed.js';
import type { CommandContext } from '../context.js';
import { descriptionOf } from '../failure.js';
import { runAndReport, type RunFlags } from '../reporting.js';
import type { Metrics } from './metrics.js';

/** Runs a pipeline, tells what happens, and measures it. */
export async function runMeasured(
  pipeline: Pipeline,
  context: CommandContext,
  options: RunFlags,
  metrics: Metrics,
  watching: readonly Watcher[] = [],
): Promise<RunReport> {
  const { name } = pipeline;
  try {
    const report = await runAndReport(pipeline, context, options, [metrics.watcher(name), ...watching]);
    await metrics.ended(name, { exit: 0, published: true, report });
    return report;
  } catch (failure) {
    const { failedRunOf } = await import('../../index.js');
    const exit = (await leftByReader(failure, pipeline)) ? 0 : descriptionOf(failure).exit;
    await metrics.ended(name, { exit, published: false, report: failedRunOf(failure) });
    throw failure;
  }
}
