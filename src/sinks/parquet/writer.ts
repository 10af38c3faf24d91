import { isOnceOf, SinkError, type Column } from '../../core/index.js';
import type { Page } from '../../flow/index.js';
import { OpenedRun, type BegunRun, type Published, type Table } from '../../lake/index.js';
import type { ParquetEngine } from '../../parquet/index.js';
import { PhasedWriter, type BegunSink, type OpenedSink } from '../phases.js';
import { project, type Projection } from '../projection.js';
import type { PreparedOutput, SinkContext, SinkWriter } from '../sink.js';
import { encodingOf, sortPlanOf, type ParquetConfig } from './config.js';
import { SortedRows } from './sorted-rows.js';

/**
 * Opens a new run of a table.
 *
 * @returns A writer that holds the row groups waiting to be encoded, and for `append` the key index.
 * @throws {SinkError} `E_SINK_FOREIGN`, `E_SINK_PATH` or `E_SINK_RUN`.
 * @throws {GateError} `E_GATE_VERIFY` if files to be kept differ from what their run wrote.
 */
export async function openRun(table: Table, engine: ParquetEngine, options: ParquetConfig, context: SinkContext): Promise<SinkWriter> {
  const run = await OpenedRun.open(table, engine, options, context);
  return new PhasedWriter(context.at, new OpenedTable(run, options, context));
}

/** A table whose columns are not known yet. */
class OpenedTable implements OpenedSink {
  #sorted: SortedRows | undefined;

  constructor(
    private readonly run: OpenedRun,
    private readonly options: ParquetConfig,
    private readonly context: SinkContext,
  ) {}

  get earlier(): Published | undefined {
    return this.run.earlier;
  }

  async begin(columns: readonly Column[]): Promise<BegunTable> {
    const { run, options, context } = this;
    const key = options.mode === 'append' ? keyFields(columns, options, context) : [];
    const projection = project(columns, { ...options, required: key, refuses: run.refuses, caseless: true }, context);
    const encoding = (inFiles: Parameters<typeof encodingOf>[1]) => encodingOf(options, inFiles, context);
    const begun = await run.begin({ columns: projection.columns, key, encoding });
    if (sortPlanOf(options).scope === 'table') this.#sorted = new SortedRows(projection.columns, options, context);
    return new BegunTable(begun, projection, this.#sorted);
  }

  async abort(underWay: Promise<unknown>): Promise<void> {
    await underWay;
    await this.#sorted?.close();
    await this.run.abort();
  }
}

/** A table that accepts rows. */
class BegunTable implements BegunSink {
  constructor(
    private readonly run: BegunRun,
    private readonly projection: Projection,
    /** Collects all rows before the first is written, if the whole table is sorted. */
    private readonly sorted: SortedRows | undefined,
  ) {}

  write(page: Page): Promise<void> {
    const batch = this.projection.take(page);
    return this.sorted ? this.sorted.add(batch) : this.run.write(batch);
  }

  async prepare(): Promise<PreparedOutput> {
    await this.sorted?.writeTo((batch) => this.run.write(batch));
    return this.run.prepare();
  }
}

/** Returns the fields that identify a row. @throws {SinkError} `E_SINK_KEY` if one does not reach the sink. */
function keyFields(columns: readonly Column[], options: ParquetConfig, { at, key }: SinkContext): readonly string[] {
  const wanted = options.key?.length ?? key.length;
  const fields = options.key ?? key.flatMap((source) => columns.find((column) => isOnceOf(source, column))?.name ?? []);
  const written = columns.filter(({ name }) => options.columns?.includes(name) ?? true).map(({ name }) => name);
  if (fields.length > 0 && fields.length >= wanted && fields.every((field) => written.includes(field))) return fields;
  throw new SinkError('E_SINK_KEY', `${at}: append needs columns that identify a row; name them under key`);
}
