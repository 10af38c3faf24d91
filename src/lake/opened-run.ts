import type { Refuses } from '../core/index.js';
import type { ParquetEngine } from '../parquet/index.js';
import { refuseUnwritable, removeFolders } from '../store/index.js';
import { runBefore } from './before.js';
import { BegunRun } from './begun-run.js';
import type { TableRunContext } from './context.js';
import { notForFolder } from './partitions.js';
import { removeDeadRuns, removeRun } from './prune.js';
import type { Published } from './published.js';
import type { Run, TableLayout, TableRunOptions } from './run.js';
import { nowhere, StoredFolder } from './run-folder.js';
import type { Table } from './table.js';

/** A run of a table whose columns are not known yet. */
export class OpenedRun {
  #begun: BegunRun | undefined;

  private constructor(private readonly run: Run) {}

  /**
   * @throws {SinkError} `E_SINK_FOREIGN`, `E_SINK_PATH` or `E_SINK_RUN`.
   * @throws {GateError} `E_GATE_VERIFY` when files to be kept are not what their run wrote.
   */
  static async open(table: Table, engine: ParquetEngine, options: TableRunOptions, context: TableRunContext): Promise<OpenedRun> {
    const before = await runBefore(table, options.mode, context);
    await removeDeadRuns(table);
    const made = await table.makeRun(context.runId, options.permissions);
    const remove = async () => {
      await removeRun(table, context.runId).catch(() => undefined);
      await removeFolders(made);
    };
    const folder = new StoredFolder(table.folder(context.runId), options.permissions);
    return new OpenedRun({ table, engine, options, context, before, folder, remove });
  }

  /** Opens a run that is never published: nothing is stored, and the table stays as it is. */
  static async rehearse(table: Table, engine: ParquetEngine, options: TableRunOptions, context: TableRunContext): Promise<OpenedRun> {
    const before = await runBefore(table, options.mode, context);
    await refuseUnwritable(table.runs);
    return new OpenedRun({ table, engine, options, context, before, folder: nowhere, remove: () => Promise.resolve() });
  }

  /** The table before this run. */
  get earlier(): Published | undefined {
    if (!this.run.before) return undefined;
    const { run_id: runId, rows, schema, undeclared, reads, partial = false } = this.run.before.manifest;
    return { runId, rows, columns: schema, undeclared, reads, partial };
  }

  /** Checks which values the files or the names of folders cannot hold. */
  readonly refuses: Refuses = (column) => {
    const { engine, options } = this.run;
    const { field, type } = column;
    const byEngine = engine.refuses?.(column);
    return options.partition_by.includes(field) ? (value) => notForFolder(field, value, type) ?? byEngine?.(value) : byEngine;
  };

  /** @throws {SinkError} `E_SINK_VALUE` for columns that cannot form one table. @throws {GateError} `E_GATE_SCHEMA`. */
  async begin(layout: TableLayout): Promise<BegunRun> {
    this.#begun = await BegunRun.begin(this.run, layout);
    return this.#begun;
  }

  /** Removes everything written by this run. */
  async abort(): Promise<void> {
    await this.#begun?.discard();
    await this.run.remove();
  }
}
