import type { Pipeline, RunEnd, RunReport } from '../../index.js';
import { leftByReader } from '../left-by-reader.js';
import type { CommandContext } from '../context.js';
import { descriptionOf } from '../failure.js';
import { runAndReport, type RunFlags, type RunWatching } from '../reporting.js';
import type { Metrics } from './metrics.js';

/**
 * Runs a pipeline, reports what happens, and measures it. If a webhook is to be notified, the metrics are written first: whatever stops a run may wait for
 * neither.
 */
export async function runMeasured(
  pipeline: Pipeline,
  context: CommandContext,
  { ended, ...options }: RunFlags,
  metrics: Metrics,
  { counts, watching }: Required<RunWatching>,
): Promise<RunReport> {
  const { name } = pipeline;
  const early = async (end: RunEnd): Promise<void> => {
    if (!tells(pipeline, end)) return;
    await measure(pipeline, metrics, end);
    await ended?.(end);
  };
  const flags = { ...options, ended: early };
  const all = { counts, watching: [...metrics.watchers(name, counts), ...watching] };
  const end = await runAndReport(pipeline, context, flags, all).then(
    (report): RunEnd => ({ report }),
    (failure: unknown): RunEnd => ({ failure }),
  );
  await measure(pipeline, metrics, end);
  if ('failure' in end) throw end.failure;
  return end.report;
}

/** Whether a webhook is notified of this end. */
function tells({ hooks }: Pipeline, end: RunEnd): boolean {
  return ('report' in end ? hooks.success : hooks.failure) !== undefined;
}

async function measure(pipeline: Pipeline, metrics: Metrics, end: RunEnd): Promise<void> {
  const { name } = pipeline;
  if ('report' in end) return metrics.ended(name, { exit: 0, published: true, report: end.report });
  const { failedRunOf } = await import('../../index.js');
  const exit = (await leftByReader(end.failure, pipeline)) ? 0 : descriptionOf(end.failure).exit;
  await metrics.ended(name, { exit, published: false, report: failedRunOf(end.failure) });
}
