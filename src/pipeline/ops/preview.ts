import { tap } from 'rxjs';
import { itemAt, type Column, type Row } from '../../core/index.js';
import { LeadstreamError, undeclaredColumn } from '../../core/index.js';
import { watchersProblem, type Watcher, type Watchers } from '../../events/index.js';
import { batchOf, type Page } from '../../flow/index.js';
import { abortSignal, checkUsage, judged, number, object } from '../../options/index.js';
import { limit } from '../../steps/index.js';
import { checkPipeline } from '../run/check-run.js';
import { runPipeline } from '../run/run.js';
import type { Pipeline } from '../spec/pipeline.js';
import type { PlannedStep } from '../spec/planned.js';
import { nullSink } from './null-sink.js';
import { asChecked } from './as-checked.js';
import { passThrough } from './pass-through.js';

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
  /** Stops the preview. */
  readonly signal?: AbortSignal;
  /** Receives events in the meantime. */
  readonly watch?: Watchers | undefined;
}

/** Rows at one point of a pipeline. */
export interface PreviewStage {
  /** `from leads`, or the step that the rows have left, like `steps[1] derive`. */
  readonly at: string;
  readonly columns: readonly Column[];
  /** The first rows. Personal fields are not masked. */
  readonly rows: readonly Row[];
  /** Total number of rows that passed here. */
  readonly passed: number;
  /** The step that would produce other rows if it had seen the whole collection, if it has not. */
  readonly sampledBy: string | undefined;
}

/** The result of a preview. */
export interface Preview {
  /** In the order of the pipeline: the source, then each step. */
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
  const { rows = 10, sample = 1000, step: last = pipeline.plan.steps.length - 1, signal, watch } = options;
  refuseOptions(pipeline, { rows, sample, step: last });
  const shown = new ShownChain(pipeline, { rows, sample, last });
  const watched = [watch ?? []].flat().map(withoutConsequences);
  try {
    await runPipeline(shown.pipeline, { ...(signal && { signal }), watch: watched });
    return shown.preview();
  } catch (failure) {
    if (shown.isEmpty || signal?.aborted) throw failure;
    return shown.preview(failure);
  }
}

function refuseOptions({ plan }: Pipeline, options: Readonly<Record<'rows' | 'sample' | 'step', number>>): void {
  const { rows, sample, step } = options;
  const { length } = plan.steps;
  const refuse = (message: string) => new LeadstreamError('E_USAGE', `previewPipeline: ${message}`);
  if (sample < rows) throw refuse('sample must be a whole number, and not less than rows');
  if (step >= length)
    throw refuse(
      `step must be a whole number from -1 to ${length - 1}, since the pipeline has ${length} ${length === 1 ? 'step' : 'steps'}`,
    );
}

/** Collects rows at one point of the pipeline as they pass. */
class Stage {
  readonly rows: Row[] = [];
  passed = 0;
  #unplanned: readonly string[] = [];

  constructor(
    readonly at: string,
    private readonly planned: readonly Column[],
    private readonly wanted: number,
  ) {}

  take(page: Page): void {
    const batch = batchOf(page);
    this.passed += batch.length;
    const names = new Set(this.planned.map(({ name }) => name));
    this.#unplanned = [...new Set([...this.#unplanned, ...[...batch.columns.keys()].filter((name) => !names.has(name))])];
    for (let index = 0; index < batch.length && this.rows.length < this.wanted; index += 1) this.rows.push(batch.row(index));
  }

  /** The columns declared at this point, and undeclared fields of the service. */
  get columns(): readonly Column[] {
    return [...this.planned, ...this.#unplanned.map((name) => undeclaredColumn(name))];
  }
}

/** A pipeline that shows its rows after each step instead of writing them. */
class ShownChain {
  readonly pipeline: Pipeline;
  readonly #steps: readonly PlannedStep[];
  readonly #stages: readonly Stage[];
  #stopped = false;

  constructor(given: Pipeline, { rows, sample, last }: { readonly rows: number; readonly sample: number; readonly last: number }) {
    const { plan } = given;
    this.#steps = plan.steps.slice(0, last + 1);
    const inputs = [...plan.steps.map(({ input }) => input), plan.columns()];
    const stage = (at: string, index: number) => new Stage(at, itemAt(inputs, index), rows);
    this.#stages = [stage(`from ${plan.collection.name}`, 0), ...this.#steps.map(({ at }, index) => stage(at, index + 1))];
    const sampling = this.#sampling(sample, given, itemAt(inputs, 0));
    const [source, ...others] = this.#stages.map((each) => this.#showing(each, rows));
    const chain = this.#steps.flatMap((step, index) => [lookedAt(step, given), ...(others[index] ? [others[index]] : [])]);
    this.pipeline = {
      ...given,
      plan: { ...plan, steps: [sampling, ...(source ? [source] : []), ...chain], sinks: [nullSink], stoppedBy: sampling },
      connection: { ...given.connection, strict: false },
      rejects: { path: undefined, pathOf: () => undefined, max: { share: 1 }, rows: false },
      expect: undefined,
      hooks: { success: undefined, failure: undefined },
      consistency: { ...given.consistency, mode: 'off' },
      spoolMaxAgeMs: undefined,
    };
  }

  get isEmpty(): boolean {
    return this.#stages.every(({ passed }) => passed === 0);
  }

  preview(failure?: unknown): Preview {
    const whole = !this.#stopped && failure === undefined;
    const stages = this.#stages.map((stage, index): PreviewStage => {
      const { at, columns, rows, passed } = stage;
      const sampling = this.#steps.slice(0, index).findLast((step) => step.blocking || step.name === 'dedupe');
      return { at, columns, rows, passed, sampledBy: whole ? undefined : sampling?.at };
    });
    return { stages, read: this.#stages[0]?.passed ?? 0, whole, failure };
  }

  /** Passes the sample and stops the read. */
  #sampling(sample: number, given: Pipeline, input: readonly Column[]): PlannedStep {
    return {
      ...passThrough('preview', 'sample', input),
      most: sample,
      open: (runtime) => (pages$) =>
        asChecked(given, given.plan.collection, pages$).pipe(limit(sample, { ...runtime, stop: () => this.#stop(runtime) })),
    };
  }

  /** Keeps the first rows of a stage; the last stage stops the read when it has enough. */
  #showing(stage: Stage, rows: number): PlannedStep {
    const isLast = stage === this.#stages.at(-1);
    // After a blocking step, everything has already been read.
    const isFirst = !this.#steps.some(({ blocking }) => blocking);
    return {
      ...passThrough('preview', `after ${stage.at}`, stage.columns),
      ...(isLast && { most: rows }),
      open: (runtime) => (pages$) => {
        const shown$ = pages$.pipe(tap((page) => stage.take(page)));
        return isLast ? shown$.pipe(limit(rows, { ...runtime, stop: () => (isFirst ? this.#stop(runtime) : undefined) })) : shown$;
      },
    };
  }

  #stop({ stop }: { stop?(): void }): void {
    this.#stopped = true;
    stop?.();
  }
}

/** Returns the step without gate and remark, which do not apply to a sample. Its joins see the same rows as in a run. */
function lookedAt(step: PlannedStep, given: Pipeline): PlannedStep {
  return {
    ...step,
    gate: () => undefined,
    remark: () => undefined,
    open: ({ read, ...runtime }) =>
      step.open({ ...runtime, read: (collection, reveal) => asChecked(given, collection, read(collection, reveal)) }),
  };
}

/** Returns a watcher that ignores warnings caused by reading only a sample. */
function withoutConsequences({ warning, ...others }: Watcher): Watcher {
  if (!warning) return others;
  return { ...others, warning: (event, ...rest) => (consequences.has(event.code) ? undefined : warning(event, ...rest)) };
}

const consequences: ReadonlySet<string> = new Set(['W_RUN_PARTIAL', 'W_SOURCE_FIELD_GONE', 'W_SINK_COLUMN']);
