import { identity } from 'rxjs';
import { itemAt, LeadstreamError, limitReached, schema, textOf, undeclaredColumn, withKeyOrigin } from '../core/index.js';
import type { Column, Row } from '../core/index.js';
import type { Watchers } from '../events/index.js';
import { batchOf, emptyTally, type Fault, type Page, type Step, type Tally } from '../flow/index.js';
import { checkUsage, number, object } from '../options/index.js';
import { limit, type StepDefinition, type StepRuntime } from '../steps/index.js';
import { keyOriginOf, type Pipeline, type PlannedStep } from '../plan/index.js';
import { PipelineRead } from './reading.js';
import type { Rejects } from './rejects.js';
import { Run } from './start.js';

/** A field of a row. Values are texts, as in text formats; personal values and credentials are `***` unless revealed. */
export interface RowField {
  readonly name: string;
  readonly value: string | null;
}

export class Stage {
  readonly rows: Row[] = [];
  passed = 0;
  tally: Readonly<Tally> = emptyTally();
  /** Why the step rejected its first rejected row. */
  fault: Fault | undefined;
  readonly #unplanned = new Set<string>();

  constructor(
    readonly at: string,
    private readonly planned: readonly Column[],
    private readonly wanted: number,
  ) {}

  /** The declared columns at this point, and the service's undeclared fields. */
  get columns(): readonly Column[] {
    return [...this.planned, ...[...this.#unplanned].map((name) => undeclaredColumn(name))];
  }

  shown(rows: readonly Row[], reveal: boolean): readonly (readonly RowField[])[] {
    return rows.map((row) =>
      this.columns.map(({ name, type, sensitivity }) => {
        const text = textOf(row[name] ?? null, type);
        return { name, value: reveal || sensitivity === 'plain' || text === null || text === '' ? text : '***' };
      }),
    );
  }

  take(page: Page): void {
    const batch = batchOf(page);
    this.passed += batch.length;
    for (const name of batch.columns.keys()) if (!this.planned.some((column) => column.name === name)) this.#unplanned.add(name);
    for (let index = 0; index < batch.length && this.rows.length < this.wanted; index += 1) this.rows.push(batch.row(index));
  }
}

export interface Observing {
  readonly steps: readonly PlannedStep[];
  readonly rows: number;
  /** Opens what precedes the first step. */
  begin(runtime: StepRuntime): Step;
  /** Opens what follows the last step. */
  end?(runtime: StepRuntime): Step;
  readonly signal?: AbortSignal | undefined;
  readonly watch?: Watchers | undefined;
  readonly now?: Date;
}

export type ObservedRun = Awaited<ReturnType<typeof runObserved>>;

/**
 * Reads through a part of a pipeline and writes nothing: no sink is opened, nothing is spooled, and no gate refuses.
 * @returns What enters the first step and leaves each step, and the error that ended it early if some stages had rows.
 * @throws As `runPipeline`, if no row has been read.
 */
export async function runObserved(pipeline: Pipeline, { steps, rows, begin, end, signal, watch, now }: Observing) {
  const { name, plan } = pipeline;
  const columns = [...plan.steps.map(({ input }) => input), plan.columns()];
  const observed = [extraStep(`from ${plan.collection.name}`, begin), ...steps];
  const stages = observed.map((step) => new Stage(step.at, itemAt(columns, plan.steps.indexOf(step) + 1), rows));
  const all = { ...plan, steps: [...observed, ...(end ? [extraStep('end', end)] : [])], sinks: [] };
  const options = { ...(signal && { signal }), ...(now && { now }), watch };
  const run = new Run({ ...pipeline, plan: all, expect: undefined, together: undefined }, options);
  const stageOf = (at: string) => stages.find((stage) => stage.at === at);
  const add: Rejects['add'] = (at, _columns, _row, fault) => {
    const stage = stageOf(at);
    if (stage) stage.fault ??= fault;
  };
  const rejects = { add, flush: () => Promise.resolve() };
  const reading = new PipelineRead(run, run.startedAt, rejects, (page, at) => stageOf(at)?.take(page));
  for (const [index, stage] of stages.entries()) stage.tally = itemAt(reading.ledger.steps, index).tally;
  pipeline.warnings.forEach(run.warn);
  const read = async () => {
    const late = await reading.through(() => Promise.resolve());
    if (late) throw late;
    return { pages: reading.ledger.source.pages, read: reading.ledger.source.rows };
  };
  try {
    await run.events.during('run', () => ({ pipeline: name }), read, identity);
    return { stages, whole: !reading.partial, failure: undefined, failedAt: undefined };
  } catch (thrown) {
    const failure = withKeyOrigin(limitReached(thrown) ?? thrown, keyOriginOf(pipeline));
    if (signal?.aborted || stages.every(({ passed }) => passed === 0)) throw failure;
    return { stages, whole: false, failure, failedAt: reading.failedAt };
  } finally {
    run.stop.forget();
    await reading.close();
  }
}

const whole = number({ whole: true, min: 1 });
const optionsCheck = object({ rows: whole, sample: whole, step: number({ whole: true, min: -1 }) });

interface PreviewOptions {
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

/** Creates a step that is not in the file. It must pass rows unchanged. */
export function extraStep(at: string, open: (runtime: StepRuntime) => Step): PlannedStep {
  const definition: StepDefinition = {
    ...{ name: at, summary: '', config: schema((z) => z.unknown()), examples: [], keepsRows: true },
    columns: (_, input) => input,
    open: (_, runtime) => open(runtime),
  };
  return { at, definition, config: undefined, input: [] };
}
