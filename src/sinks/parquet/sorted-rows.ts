import { SinkError, stoppedBy, type OutputColumn } from '../../core/index.js';
import { defaultMemory, RowSorter, scratchFolder } from '../../engine/index.js';
import { Batch, RecordBatch } from '../../vector/index.js';
import type { SinkContext } from '../sink.js';
import { sortingOf, sortPlanOf, type ParquetConfig } from './config.js';

/**
 * Sorts all rows of a table once they have arrived.
 *
 * Memory: limited by `sort_by.memory`; beyond it, rows are in a private folder.
 */
export class SortedRows {
  readonly #sorter: RowSorter;

  constructor(
    private readonly columns: readonly OutputColumn[],
    options: ParquetConfig,
    private readonly context: SinkContext,
  ) {
    const types = new Map(columns.map(({ field, type }) => [field, type]));
    const keys = sortingOf(options).map((key) => ({ ...key, type: types.get(key.field) ?? ('text' as const) }));
    this.#sorter = new RowSorter(keys, {
      memory: sortPlanOf(options).memory ?? defaultMemory,
      folder: context.scratch ?? scratchFolder(),
      failed: (message) => new SinkError('E_SINK_WRITE', `${context.at}: ${message}`),
    });
  }

  add(rows: Batch): Promise<void> {
    const batch = new RecordBatch(rows.rows, new Map(this.columns.map(({ field }, place) => [field, rows.column(place)])));
    return this.#sorter.add(
      batch,
      Array.from(this.#sorter.keysOf(batch).values(), ({ vector }) => vector),
    );
  }

  /**
   * Passes the rows on in sorted order.
   *
   * @throws {LeadstreamError} `E_RUN_ABORTED` after the signal of the run.
   */
  async writeTo(write: (batch: Batch) => Promise<void>): Promise<void> {
    const sorted = await this.#sorter.finish();
    for (let batch = await sorted.next(); batch.length > 0; batch = await sorted.next()) {
      const { signal } = this.context;
      if (signal?.aborted) throw stoppedBy(signal, 'the run was stopped; nothing was published');
      const { length } = batch;
      await write(
        new Batch(
          length,
          this.columns.map(({ field }) => batch.column(field)),
        ),
      );
    }
    await this.close();
  }

  close(): Promise<void> {
    return this.#sorter.close();
  }
}
