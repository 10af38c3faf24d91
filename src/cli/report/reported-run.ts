import type { Pipeline, RunEnd } from '../../index.js';
import { leftByReader } from '../left-by-reader.js';
import { realClock } from '../clock.js';
import type { CommandContext } from '../context.js';
import { descriptionOf } from '../failure.js';
import { runMeasured } from '../metrics/measured.js';
import type { Metrics } from '../metrics/metrics.js';
import type { RunFlags } from '../reporting.js';
import { RequestCounts } from '../request-counts.js';
import { documentOf, type PipelineDocument } from './document.js';
import { Observer } from './observed.js';

/** How the run of one pipeline ended. */
export interface ReportedRun {
  readonly document: PipelineDocument;
  /** What it failed with, if it did. A run that only prints does not fail when its reader has had enough. */
  readonly failure?: { readonly thrown: unknown };
}

/** Options of a run and its report that come from the command line. */
export interface ReportedFlags extends RunFlags {
  /** Whether a report is written. Only then is the run observed. */
  readonly reported: boolean;
}

/**
 * Runs a pipeline, reports on stderr what happens, and returns what a report contains about it, however it ends.
 *
 * @param early Receives the document before a webhook is notified, which may take longer than whatever stopped the run will wait.
 */
export async function reportedRun(
  pipeline: Pipeline,
  context: CommandContext,
  { reported, ...flags }: ReportedFlags,
  metrics: Metrics,
  early: (document: PipelineDocument) => Promise<void>,
): Promise<ReportedRun> {
  const { failedRunOf } = await import('../../index.js');
  const counts = new RequestCounts();
  const observer = reported ? new Observer(context.clock ?? realClock, counts) : undefined;
  const endedBy = async (end: RunEnd): Promise<ReportedRun> => {
    const observed = observer?.observed();
    if ('report' in end) return { document: documentOf(pipeline, { status: 'published', exit: 0, report: end.report, observed }) };
    const how = await endOf(end.failure, pipeline, context);
    const document = documentOf(pipeline, { ...how, report: failedRunOf(end.failure), observed });
    return how.status === 'closed' ? { document } : { document, failure: { thrown: end.failure } };
  };
  const ended = async (end: RunEnd) => early((await endedBy(end)).document);
  try {
    const watching = { counts, watching: observer ? [observer.watcher] : [] };
    const report = await runMeasured(pipeline, context, { ...flags, profile: reported, ended }, metrics, watching);
    return await endedBy({ report });
  } catch (thrown) {
    return endedBy({ failure: thrown });
  }
}

/** Returns what a report contains about a pipeline that was not run because its file or its options are wrong. */
export async function refusedRun(thrown: unknown, context: CommandContext): Promise<PipelineDocument> {
  return documentOf(undefined, { ...(await endOf(thrown, undefined, context)), report: undefined, observed: undefined });
}

/** Describes how a run ended without publishing. A run that only prints does not fail when its reader has had enough. */
async function endOf(thrown: unknown, pipeline: Pipeline | undefined, { console }: CommandContext) {
  const closed = await leftByReader(thrown, pipeline);
  const { code, message, help, exit, kept } = descriptionOf(thrown);
  return {
    status: closed ? ('closed' as const) : ('failed' as const),
    exit: closed ? 0 : exit,
    ...(!closed && { error: { code, message: console.redact(message), help } }),
    ...(kept.length > 0 && { kept }),
  };
}
