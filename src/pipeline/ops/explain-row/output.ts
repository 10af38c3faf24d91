import { LeadstreamError, newRunId, type Column, type OutputColumn, type Row, type Value } from '../../../core/index.js';
import { pageOf, type Fault } from '../../../flow/index.js';
import { RunLog } from '../../../lake/index.js';
import { castText, castTyped, type PreparedOutput, type SinkContext, type SinkWriter } from '../../../sinks/index.js';
import { batchFromRows } from '../../../vector/index.js';
import { undeclaredColumns } from '../../run/fields.js';
import type { Pipeline } from '../../spec/pipeline.js';
import type { PlannedSink } from '../../spec/planned.js';
import type { StateFolder } from '../../run/state-folder.js';
import type { RowOutput } from './explanation.js';
import type { FieldView } from './fields.js';

/** Maximum number of rows of an output that are shown. */
const mostRows = 20;

/** What all sinks of a rehearsal share. */
export interface Rehearsing {
  readonly pipeline: Pipeline;
  readonly view: FieldView;
  readonly firstStart: Date;
  readonly state: StateFolder;
  readonly signal: AbortSignal | undefined;
}

/** What rows would become in the outputs, and the columns that leave the last step. */
export interface Rehearsed {
  readonly leaving: readonly Column[];
  readonly outputs: readonly RowOutput[];
}

/**
 * Passes rows to the sinks of a pipeline, which accept and refuse them as in a run, but leave their outputs unchanged.
 *
 * @param discovered Undeclared fields of the record.
 */
export async function rehearsed(rows: readonly Row[], discovered: readonly Column[], options: Rehearsing): Promise<Rehearsed> {
  const { plan } = options.pipeline;
  if (rows.length === 0) return { leaving: plan.columns(discovered), outputs: [] };
  const sinks: RehearsedSink[] = [];
  try {
    for (const sink of plan.sinks) sinks.push(await RehearsedSink.open(sink, options));
    const earlier = sinks.map((sink) => sink.earlier);
    const leaving = plan.columns(undeclaredColumns(plan.collection, earlier, discovered));
    const outputs: RowOutput[] = [];
    for (const sink of sinks) outputs.push(await sink.take(rows, leaving));
    return { leaving, outputs };
  } finally {
    for (const sink of sinks) await sink.close();
  }
}

/** The response of a sink to a row. */
interface Said {
  readonly row: Row;
  readonly faults: readonly Fault[];
  /** Fields that became null. */
  readonly nulled: ReadonlySet<string>;
}

/** A sink that accepts rows and stores none. */
class RehearsedSink {
  readonly #said: Said[] = [];
  #faults: Fault[] = [];
  #nulled = new Set<string>();
  #rejected = 0;
  #values = 0;
  #writer: SinkWriter | undefined;
  #failure: LeadstreamError | undefined;

  private constructor(
    private readonly sink: PlannedSink,
    private readonly view: FieldView,
  ) {}

  static async open(sink: PlannedSink, options: Rehearsing): Promise<RehearsedSink> {
    const rehearsal = new RehearsedSink(sink, options.view);
    await rehearsal.#attempt(async () => {
      rehearsal.#writer = await sink.rehearse(rehearsal.#context(options));
    });
    return rehearsal;
  }

  get earlier(): SinkWriter['earlier'] {
    return this.#writer?.earlier;
  }

  async take(rows: readonly Row[], columns: readonly Column[]): Promise<RowOutput> {
    let prepared: PreparedOutput | undefined;
    await this.#attempt(async () => {
      await this.#writer?.begin(columns);
      for (const [index, row] of rows.entries()) await this.#write(row, index + 1);
      prepared = await this.#writer?.prepare();
    });
    return this.#told(rows, columns, prepared);
  }

  async close(): Promise<void> {
    await this.#writer?.abort();
  }

  async #write(row: Row, number: number): Promise<void> {
    const page = pageOf(number, batchFromRows([row]), { release: () => {} });
    this.#faults = [];
    this.#nulled = new Set();
    try {
      await this.#writer?.write(page);
    } finally {
      this.#said.push({ row, faults: this.#faults, nulled: this.#nulled });
    }
  }

  /** Ends the rehearsal of this sink with whatever would make a run fail, and records the failure. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    if (this.#failure) return;
    try {
      await work();
    } catch (failure) {
      if (!(failure instanceof LeadstreamError) || failure.code === 'E_RUN_ABORTED') throw failure;
      this.#failure = failure;
    }
  }

  #context({ pipeline, firstStart, state, signal }: Rehearsing): Omit<SinkContext, 'at'> {
    const { baseDir, onError, name, plan } = pipeline;
    return {
      ...{ baseDir, onError, signal, pipeline: name, key: plan.collection.key, runId: newRunId() },
      runLog: new RunLog(state.path),
      stdout: process.stdout,
      runDate: () => firstStart.toISOString().slice(0, 10),
      reject: () => void (this.#rejected += 1),
      nulled: (field) => {
        this.#values += 1;
        this.#nulled.add(field);
      },
      unfit: (fault) => void this.#faults.push(fault),
    };
  }

  #told(rows: readonly Row[], columns: readonly Column[], prepared: PreparedOutput | undefined): RowOutput {
    const { at, output, writes } = this.sink;
    const { rows: written = 0, unchanged = 0, changed = 0 } = prepared ?? {};
    const counts = { written, unchanged, changed, rejected: this.#rejected, nulled: this.#values };
    const said = this.#said.length > 0 ? this.#said : rows.map((row) => ({ row, faults: [], nulled: new Set<string>() }));
    const all = this.#failure && this.#said.length === 0 ? [] : writes(columns);
    return {
      at,
      path: output,
      outcome: this.#failure ? 'failed' : outcomeOf(counts),
      reason: this.#failure && `${this.#failure.code}: ${this.#failure.message}`,
      counts,
      rows: said.slice(0, mostRows).map((each) => all.map((column) => this.#cell(column, columns, each))),
    };
  }

  #cell(column: OutputColumn, columns: readonly Column[], { row, faults, nulled }: Said) {
    const { name, type, field } = column;
    const arriving = columns.find((candidate) => candidate.name === field);
    if (!arriving) throw new Error(`an output has a column for the field ${field}, which no row has`);
    const { sensitivity } = arriving;
    const problem = faults.find((fault) => fault.field === field)?.reason;
    const value = nulled.has(field) ? null : (row[field] ?? null);
    const shown = problem === undefined ? shownAs(type, arriving, value) : value;
    return {
      ...{ name, type, sensitivity, problem },
      value: this.view.value(shown, { type: problem === undefined ? arriving.type : 'text', sensitivity }),
    };
  }
}

/** Returns the worst outcome of the rows. */
function outcomeOf({ written, unchanged, rejected, nulled }: RowOutput['counts']): RowOutput['outcome'] {
  if (rejected > 0) return 'rejected';
  if (unchanged > 0 && written === 0) return 'unchanged';
  return nulled > 0 ? 'nulled' : 'written';
}

/** Returns a value as it is written, if it fits. */
function shownAs(type: OutputColumn['type'], { type: arriving }: Column, value: Value): Value {
  const cast = type === 'text' ? castText(arriving, true) : castTyped(type);
  const fitting = cast(value);
  return fitting === undefined ? value : fitting;
}
