import { LeadstreamError } from '../core/index.js';
import type { Watchers } from '../events/index.js';
import { checkUsage, number, object } from '../options/index.js';
import { limit } from '../steps/index.js';
import type { Pipeline } from '../plan/index.js';
import { runObserved, type ObservedRun } from './observed.js';

const whole = number({ whole: true, min: 1 });
const optionsCheck = object({ rows: whole, sample: whole, step: number({ whole: true, min: -1 }) });

export interface PreviewOptions {
  /** Rows to show after each step. Default 10. */
  readonly rows?: number;
  /** Rows of the collection to read at most. Default 1000. */
  readonly sample?: number;
  /** Index of the last step that rows pass, from 0; -1 for rows as they are read. Default: the last step. */
  readonly step?: number;
  readonly signal?: AbortSignal;
  readonly watch?: Watchers;
}

/** Writes nothing, and reads until the last step has emitted the requested rows or the sample is read. Personal fields are not masked. */
export async function previewPipeline(pipeline: Pipeline, options: PreviewOptions = {}): Promise<ObservedRun> {
  const { plan } = pipeline;
  const { rows = 10, sample = 1000, step: last = plan.steps.length - 1, signal, watch } = options;
  checkUsage('preview', optionsCheck, { rows, sample, step: last });
  const refuse = (message: string) => new LeadstreamError('E_USAGE', `preview: ${message}`);
  if (sample < rows) throw refuse('sample must not be less than rows');
  if (last >= plan.steps.length) throw refuse(`step must be less than the number of steps, ${plan.steps.length}`);
  const steps = plan.steps.slice(0, last + 1);
  // After a blocking step, everything has already been read.
  const isBlocking = steps.some(({ definition }) => definition.blocking);
  return runObserved(pipeline, {
    ...{ steps, rows, signal, watch },
    begin: (runtime) => limit(sample, runtime),
    ...(!isBlocking && { end: (runtime) => limit(rows, runtime) }),
  });
}
