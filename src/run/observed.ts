import { pipe, tap, type Observable } from 'rxjs';
import type { Collection } from '../collections/index.js';
import { itemAt, schema, undeclaredColumn, type Column, type Row } from '../core/index.js';
import type { Watcher, Watchers } from '../events/index.js';
import { batchOf, countOf, emptyTally, type Fault, type Page, type Step, type Tally } from '../flow/index.js';
import { nothingToCommit, type SinkDefinition, type SinkWriter } from '../sinks/index.js';
import { deduping, type StepDefinition, type StepRuntime } from '../steps/index.js';
import { runPipeline } from './run.js';
import type { Pipeline, PlannedSink, PlannedStep } from '../plan/index.js';

/** What enters the first step, or leaves a step. */
export class Stage {
  readonly rows: Row[] = [];
  passed = 0;
  tally: Readonly<Tally> = emptyTally();
  /** Why the step rejected a row: the first one. */
  fault: Fault | undefined;
  /** Whether this step or an earlier one has failed. */
  failed = false;
  readonly #unplanned = new Set<string>();

  constructor(
    readonly at: string,
    private readonly planned: readonly Column[],
    private readonly wanted: number,
  ) {}

  /** The columns declared at this point, and undeclared fields of the service. */
  get columns(): readonly Column[] {
    return [...this.planned, ...[...this.#unplanned].map((name) => undeclaredColumn(name))];
  }

  /** Returns the step observed, without gate and remark, which do not apply to some rows. */
  observing({ definition, ...step }: PlannedStep): PlannedStep {
    const open: StepDefinition['open'] = (config, runtime) => {
      this.rows.length = 0;
      this.passed = 0;
      this.fault = undefined;
      this.tally = runtime.tally;
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
    for (const name of batch.columns.keys()) if (!this.planned.some((column) => column.name === name)) this.#unplanned.add(name);
    for (let index = 0; index < batch.length && this.rows.length < this.wanted; index += 1) this.rows.push(batch.row(index));
  }
}

export interface Observing {
  readonly steps: readonly PlannedStep[];
  /** Number of rows to keep at each stage. */
  readonly rows: number;
  /** Opens what stands between the collection and the first step. */
  begin(runtime: StepRuntime): Step;
  /** Opens what stands behind the last step. */
  end?(runtime: StepRuntime): Step;
  readonly signal?: AbortSignal | undefined;
  readonly watch?: Watchers | undefined;
  readonly now?: Date;
}

export type Observed = Awaited<ReturnType<typeof runObserved>>;

/**
 * Runs a part of a pipeline and writes nothing: no sink is opened, nothing is spooled, and no gate refuses.
 *
 * @returns What enters the first step and then each step, and the error that ended it early, after some stages had rows.
 * @throws As `runPipeline`, if no row has been read yet.
 */
export async function runObserved(pipeline: Pipeline, observing: Observing) {
  const { steps, rows, begin, end, signal, watch, now } = observing;
  const { plan, connection, consistency } = pipeline;
  const columns = [...plan.steps.map(({ input }) => input), plan.columns()];
  const chain = [extraStep(`from ${plan.collection.name}`, begin), ...steps].map((step) => {
    const stage = new Stage(step.at, itemAt(columns, plan.steps.indexOf(step) + 1), rows);
    return { stage, step: stage.observing(checkingSides(step, pipeline)) };
  });
  const stages = chain.map(({ stage }) => stage);
  const watched = [...chain.map(({ step }) => step), ...(end ? [extraStep('end', end)] : [])];
  const unwritten: Pipeline = {
    ...pipeline,
    plan: { ...plan, steps: watched, sinks: [discarding] },
    connection: { ...connection, strict: false },
    rejects: { path: undefined, pathOf: () => undefined, max: { share: 1 }, rows: false },
    expect: undefined,
    together: undefined,
    onNewField: 'next_run',
    hooks: {},
    consistency: { ...consistency, mode: 'off' },
    spoolMaxAgeMs: undefined,
  };
  try {
    const options = { ...(signal && { signal }), ...(now && { now }), watch: [watch ?? []].flat().map(withoutConsequences) };
    const { partial } = await runPipeline(unwritten, options);
    return { stages, whole: !partial, failure: undefined };
  } catch (failure) {
    if (signal?.aborted || stages.every(({ passed }) => passed === 0)) throw failure;
    return { stages, whole: false, failure };
  }
}

function checkingSides({ definition, ...step }: PlannedStep, given: Pipeline): PlannedStep {
  const open: StepDefinition['open'] = (config, { read, ...runtime }) =>
    definition.open(config, {
      ...runtime,
      ...(read && { read: (of, reveal, onDuplicateKey) => asChecked({ ...given, onDuplicateKey }, of, read(of, reveal, onDuplicateKey)) }),
    });
  return { ...step, definition: { ...definition, open } };
}

/** If a run checks the list, it sees only the first row of each key, unless it keeps all. */
export function asChecked({ consistency, onDuplicateKey }: Pipeline, collection: Collection, pages$: Observable<Page>): Observable<Page> {
  if (consistency.mode === 'off' || onDuplicateKey === 'keep_all' || !collection.paged) return pages$;
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

const discardingSink: SinkDefinition = {
  ...{ name: 'nothing', summary: '', config: schema((z) => z.unknown()), examples: [], prints: true },
  ...{ output: () => undefined, writes: () => [] },
  open: (): Promise<SinkWriter> => {
    let rows = 0;
    return Promise.resolve({
      begin: () => Promise.resolve(),
      write: (page: Page) => Promise.resolve(void (rows += countOf(page))),
      prepare: () => Promise.resolve({ rows, bytes: 0, total: rows, unchanged: 0, changed: 0, ...nothingToCommit }),
      abort: () => Promise.resolve(),
    });
  },
};

export const discarding: PlannedSink = { at: 'nothing', index: 0, definition: discardingSink, config: undefined, output: undefined };

function withoutConsequences({ warning, ...others }: Watcher): Watcher {
  if (!warning) return others;
  return { ...others, warning: (event, ...rest) => (consequences.has(event.code) ? undefined : warning(event, ...rest)) };
}

const consequences: ReadonlySet<string> = new Set(['W_RUN_PARTIAL', 'W_SOURCE_FIELD_GONE', 'W_SINK_COLUMN']);
