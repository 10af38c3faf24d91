import { StepError } from '../../core/index.js';
import type { BatchReader, Collector, OnError, StepContext } from '../../flow/index.js';
import { type Order, RowSorter } from '../../sorting/index.js';
import { taking, type RecordBatch } from '../../vector/index.js';
import { keptRows } from '../on-error.js';
import { scratchFailure } from '../scratch-failure.js';

export interface SorterOptions {
  /** Memory for rows, in bytes. */
  readonly memory: number;
  /** Private folder for rows that do not fit. */
  readonly folder: string;
  /** What happens to a row whose key is not of its type. */
  readonly onError: OnError;
}

/** Sorts the rows whose keys are of their types. */
export class Sorter implements Collector {
  readonly #rows: RowSorter;

  constructor(
    private readonly order: Order,
    private readonly options: SorterOptions,
    private readonly context: StepContext,
  ) {
    const { memory, folder } = options;
    this.#rows = new RowSorter(order, { memory, folder, failed: scratchFailure(context.at) });
  }

  /** Adds rows. Those with a key that is not of its type are left out, unless they come last under `null`. */
  async add(batch: RecordBatch, page: number): Promise<void> {
    const { at } = this.context;
    const keys = this.order.keysOf(batch);
    const vectors = keys.map(({ vector }) => vector);
    if (this.options.onError === 'null') return this.#rows.add(batch, vectors);
    const outcomes = new Map(keys.map(({ field, ...mapped }) => [field, mapped]));
    const failure = (field: string, reason: string, row: string) =>
      new StepError('E_STEP_VALUE', `${at}: field ${field} ${reason} in ${row}`);
    const kept = keptRows({ page, batch }, outcomes, this.options.onError, this.context, failure);
    if (kept === undefined) return this.#rows.add(batch, vectors);
    return this.#rows.add(batch.take(kept), vectors.map(taking(kept)));
  }

  finish(): Promise<BatchReader> {
    return this.#rows.finish();
  }

  close(): Promise<void> {
    return this.#rows.close();
  }
}
