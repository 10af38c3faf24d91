import { pipe, tap, type Observable } from 'rxjs';
import type { Collection } from '../collections/index.js';
import { itemAt, schema, undeclaredColumn, type Column, type Row } from '../core/index.js';
import type { Watcher, Watchers } from '../events/index.js';
import { batchOf, countOf, emptyTally, type Fault, type Page, type Step, type Tally } from '../flow/index.js';
import { nothingToCommit, type SinkDefinition, type SinkWriter } from '../sinks/index.js';
import { deduping, type StepDefinition, type StepRuntime } from '../steps/index.js';
import { runPipeline } from './run.js';
import type { Pipeline, Plan, PlannedSink, PlannedStep } from '../plan/index.js';

/** What passes one point of a pipeline: what enters the first step, or what leaves a step. */
export class Stage {
  /** The first rows. */
  readonly rows: Row[] = [];
  /** Number of all rows. */
  passed = 0;
  /** What the step has counted. */
  tally: Readonly<Tally> = emptyTally();
  /** Why the step rejected a row: the first one. */
  fault: Fault | undefined;
  /** Whether this step or an earlier one has failed. */
  failed = false;
  /** Ends the read, as nothing more is needed here. Does nothing after a blocking step, which has read everything. */
  stop = (): void => {};
  #unplanned: readonly string[] = [];

  /** @param wanted Number of rows to keep. */
  constructor(
    readonly at: string,
    private readonly planned: readonly Column[],
    private readonly wanted: number,
  ) {}

  /** The columns declared at this point, and undeclared fields of the service. */
  get columns(): readonly Column[] {
    return [...this.planned, ...this.#unplanned.map((name) => undeclaredColumn(name))];
  }

  /** Returns the step with its rows observed, without gate and remark, which do not apply to some rows. A run that starts again opens it again. */
  observing({ definition, ...step }: PlannedStep): PlannedStep {
    const open: StepDefinition['open'] = (config, runtime) => {
      this.rows.length = 0;
      this.passed = 0;
      this.fault = undefined;
      this.tally = runtime.tally;
      this.stop = () => runtime.stop?.();
      const reject: StepRuntime['reject'] = (row, fault) => {
        this.fault ??= fault;
        runtime.reject(row, fault);
      };
      const opened = definition.open(config, { ...runtime, reject });
      return pipe(opened, tap({ next: (page) => this.#take(page), error: () => (this.failed = true) }));
    };
    return { ...step, definition: { ...definition, open, gate: () => undefined, remark: () => undefined } };
  }

  #take(page: Page): void {
    const batch = batchOf(page);
    this.passed += batch.length;
    const names = new Set(this.planned.map(({ name }) => name));
    this.#unplanned = [...new Set([...this.#unplanned, ...[...batch.columns.keys()].filter((name) => !names.has(name))])];
    for (let index = 0; index < batch.length && this.rows.length < this.wanted; index += 1) this.rows.push(batch.row(index));
  }
}

/** The part of a pipeline that is observed. */
export interface Observing {
  /** The steps that rows pass through. */
  readonly steps: readonly PlannedStep[];
  /** Number of rows to keep at each stage. */
  readonly rows: number;
  /** Opens what stands between the collection and the first step. */
  begin(runtime: StepRuntime): Step;
  /** Called after each page that has left the last stage. */
  end?(last: Stage): void;
  readonly signal?: AbortSignal | undefined;
  readonly watch?: Watchers | undefined;
  /** Start of the run. Default: now. */
  readonly now?: Date;
}

/** What an observed run has shown. */
export interface Observed {
  /** In the order of the pipeline: what enters the first step, then each step. */
  readonly stages: readonly Stage[];
  /** The error that ended it early, after some stages had rows. */
  readonly failure: unknown;
}

/**
 * Runs a part of a pipeline and writes nothing: no sink is opened, no gate is evaluated, nothing is spooled.
 *
 * @throws As `runPipeline`, if no row has been read yet.
 */
export async function runObserved(pipeline: Pipeline, observing: Observing): Promise<Observed> {
  const { steps, rows, begin, signal, watch, now } = observing;
  const { plan } = pipeline;
  const source = extraStep(`from ${plan.collection.name}`, begin);
  const columns = [...plan.steps.map(({ input }) => input), plan.columns()];
  const chain = [source, ...steps].map((step) => {
    const stage = new Stage(step.at, itemAt(columns, plan.steps.indexOf(step) + 1), rows);
    return { stage, step: stage.observing(checkingSides(step, pipeline)) };
  });
  const stages = chain.map(({ stage }) => stage);
  const sink = discarding(() => observing.end?.(itemAt(stages, steps.length)));
  const watched = [watch ?? []].flat().map(withoutConsequences);
  try {
    const unwritten = unrefused(pipeline, { ...plan, steps: chain.map(({ step }) => step), sinks: [sink] });
    await runPipeline(unwritten, { ...(signal && { signal }), ...(now && { now }), watch: watched });
    return { stages, failure: undefined };
  } catch (failure) {
    if (signal?.aborted || stages.every(({ passed }) => passed === 0)) throw failure;
    return { stages, failure };
  }
}

/** Returns a pipeline that no gate refuses, and that keeps no pages. */
function unrefused(given: Pipeline, plan: Plan): Pipeline {
  return {
    ...given,
    plan,
    connection: { ...given.connection, strict: false },
    rejects: { path: undefined, pathOf: () => undefined, max: { share: 1 }, rows: false },
    expect: undefined,
    onNewField: 'next_run',
    hooks: {},
    consistency: { ...given.consistency, mode: 'off' },
    spoolMaxAgeMs: undefined,
  };
}

/** Returns the step with joins that see the same rows as in a run. */
function checkingSides({ definition, ...step }: PlannedStep, given: Pipeline): PlannedStep {
  const open: StepDefinition['open'] = (config, { read, ...runtime }) =>
    definition.open(config, {
      ...runtime,
      ...(read && { read: (collection, reveal) => asChecked(given, collection, read(collection, reveal)) }),
    });
  return { ...step, definition: { ...definition, open } };
}

/** Returns the rows of a list as a run would see them, from pages read without a check: if a run checks the list, only the first row of each key. */
export function asChecked({ consistency }: Pipeline, collection: Collection, pages$: Observable<Page>): Observable<Page> {
  if (consistency.mode === 'off' || !collection.paged) return pages$;
  return pages$.pipe(deduping(collection.key, {}, emptyTally()));
}

/** Creates a step that is not in a file. It must pass rows through unchanged. */
export function extraStep(at: string, open: (runtime: StepRuntime) => Step): PlannedStep {
  const definition: StepDefinition = {
    ...{ name: at, summary: '', config: schema((z) => z.unknown()), examples: [], keepsRows: true },
    columns: (_, input) => input,
    open: (_, runtime) => open(runtime),
  };
  return { at, definition, config: undefined, input: [] };
}

/** Creates a sink that discards the rows. @param written Called after each page. */
export function discarding(written: () => void = () => {}): PlannedSink {
  const open = (): Promise<SinkWriter> => {
    let rows = 0;
    return Promise.resolve({
      begin: () => Promise.resolve(),
      write: (page: Page) => {
        rows += countOf(page);
        written();
        return Promise.resolve();
      },
      prepare: () => Promise.resolve({ rows, bytes: 0, total: rows, unchanged: 0, changed: 0, ...nothingToCommit }),
      abort: () => Promise.resolve(),
    });
  };
  const definition: SinkDefinition = {
    ...{ name: 'nothing', summary: '', config: schema((z) => z.unknown()), examples: [], prints: true },
    ...{ output: () => undefined, writes: () => [], open },
  };
  return { at: 'nothing', index: 0, definition, config: undefined, output: undefined };
}

/** Returns a watcher that ignores warnings caused by reading only some rows. */
function withoutConsequences({ warning, ...others }: Watcher): Watcher {
  if (!warning) return others;
  return { ...others, warning: (event, ...rest) => (consequences.has(event.code) ? undefined : warning(event, ...rest)) };
}

const consequences: ReadonlySet<string> = new Set(['W_RUN_PARTIAL', 'W_SOURCE_FIELD_GONE', 'W_SINK_COLUMN']);
