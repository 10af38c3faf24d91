import { itemAt, LeadstreamError, type Column, type Row } from '../core/index.js';
import { watchersProblem, type Watchers } from '../events/index.js';
import { abortSignal, checkUsage, judged, number, object } from '../options/index.js';
import { limit } from '../steps/index.js';
import { checkPipeline, type Pipeline } from '../plan/index.js';
import { asChecked, runObserved } from './observed.js';

const whole = number({ whole: true, min: 1 });
const taken = object({
  rows: whole,
  sample: whole,
  step: number({ whole: true, min: -1 }),
  signal: abortSignal,
  watch: judged(watchersProblem),
});

/** The options of a preview. */
export interface PreviewOptions {
  /** Rows to show after each step, at least 1. Default 10. */
  readonly rows?: number;
  /** Maximum number of rows of the collection to read. Default 1000. */
  readonly sample?: number;
  /** Index of the last step that rows pass through, from 0; -1 for the rows as they are read. Default: the last step. */
  readonly step?: number;
  readonly signal?: AbortSignal;
  readonly watch?: Watchers | undefined;
}

/** Rows at one point of a pipeline. */
export interface PreviewStage {
  /** `from leads`, or the step that the rows have left, like `steps[1] derive`. */
  readonly at: string;
  readonly columns: readonly Column[];
  /** The first rows. Personal fields are not masked. */
  readonly rows: readonly Row[];
  /** Number of all rows. */
  readonly passed: number;
}

/** The result of a preview. */
export interface Preview {
  readonly stages: readonly PreviewStage[];
  /** Number of rows read from the collection. */
  readonly read: number;
  /** Whether the whole collection was read. */
  readonly whole: boolean;
  /** The error that ended the preview early, after some stages had rows. */
  readonly failure: unknown;
}

/**
 * Runs the first rows of a pipeline through its steps and writes nothing: no sink is opened, no gate is evaluated, nothing is spooled. It reads until the last
 * step has emitted the requested number of rows, or the sample is read. The other sides of joins are read completely.
 *
 * @throws {LeadstreamError} `E_USAGE` for invalid options. As `runPipeline`, if no row has been read yet.
 *
 * @example
 * const { stages } = await previewPipeline(await loadPipeline('leads.yaml'), { rows: 3 });
 * // [{ at: 'from leads', rows: [{ lead_id: '1', … }, …], … }, { at: 'steps[0] derive', rows: […], … }]
 */
export async function previewPipeline(pipeline: Pipeline, options: PreviewOptions = {}): Promise<Preview> {
  checkPipeline('previewPipeline', pipeline);
  checkUsage('previewPipeline', taken, options);
  const { plan } = pipeline;
  const { rows = 10, sample = 1000, step: last = plan.steps.length - 1, signal, watch } = options;
  const refuse = (message: string) => new LeadstreamError('E_USAGE', `previewPipeline: ${message}`);
  if (sample < rows) throw refuse('sample must not be less than rows');
  if (last >= plan.steps.length) throw refuse(`step must be less than the number of steps, ${plan.steps.length}`);
  const steps = plan.steps.slice(0, last + 1);
  // After a blocking step, everything has already been read.
  const isBlocking = steps.some(({ definition }) => definition.blocking);
  const { stages, whole, failure } = await runObserved(pipeline, {
    ...{ steps, rows, signal, watch },
    begin: (runtime) => (pages$) => asChecked(pipeline, plan.collection, pages$).pipe(limit(sample, runtime)),
    ...(!isBlocking && { end: (runtime) => limit(rows, runtime) }),
  });
  const shown = stages.map(({ at, columns, rows: first, passed }) => ({ at, columns, rows: first, passed }));
  return { stages: shown, read: itemAt(stages, 0).passed, whole, failure };
}
