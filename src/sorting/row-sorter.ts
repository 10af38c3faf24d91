import { itemAt } from '../core/index.js';
import type { BatchReader } from '../flow/index.js';
import { interleave, RecordBatch } from '../vector/index.js';
import { Merge, type Run } from './merge.js';
import type { Keys, Order } from './order.js';
import { pageRows, Runs, type RunsOptions } from './runs.js';

/** Rows with their keys. */
interface Chunk {
  readonly batch: RecordBatch;
  readonly keys: Keys;
}

/**
 * Sorts rows in memory, and beyond that by merging sorted runs in a scratch file. The sort is stable, whatever the number of runs. Half of
 * the memory is for rows; the rest is for their order, for blocks in transit, and for memory that the runtime has not yet freed.
 */
export class RowSorter {
  #chunks: Chunk[] = [];
  #bytes = 0;
  #rows = 0;
  readonly #runs: Runs;

  /**
   * @param options Including the total memory in bytes.
   */
  constructor(
    private readonly order: Order,
    private readonly options: RunsOptions,
  ) {
    this.#runs = new Runs(order, { ...options, memory: options.memory / 4 });
  }

  /** Adds rows. @param keys Their keys, as returned by the order. */
  async add(batch: RecordBatch, keys: Keys): Promise<void> {
    if (batch.length === 0) return;
    this.#chunks.push({ batch, keys });
    this.#rows += batch.length;
    this.#bytes += batch.byteLength() + keys.length * batch.length * 16;
    if (this.#bytes > this.options.memory / 2) await this.#spill();
  }

  /** Returns all rows in order. */
  async finish(): Promise<BatchReader> {
    if (this.#runs.count === 0) return new Merge([this.#inMemory(pageRows)], this.order, pageRows);
    if (this.#rows > 0) await this.#spill();
    return this.#runs.merged();
  }

  async close(): Promise<void> {
    this.#chunks = [];
    await this.#runs.close();
  }

  /** Returns the rows in memory, in order, in blocks of `blockRows` rows. */
  #inMemory(blockRows: number): Run {
    const chunks = this.#chunks;
    const [batches, rows] = [new Uint32Array(this.#rows), new Uint32Array(this.#rows)];
    let at = 0;
    for (const [index, { batch }] of chunks.entries()) {
      for (let row = 0; row < batch.length; row += 1, at += 1) {
        batches[at] = index;
        rows[at] = row;
      }
    }
    const sorted = Uint32Array.from(rows.keys()).sort((one, other) => {
      const [a, b] = [itemAt(chunks, itemAt(batches, one)), itemAt(chunks, itemAt(batches, other))];
      const order = this.order.compare(a.keys, itemAt(rows, one), b.keys, itemAt(rows, other));
      return order === 0 ? one - other : order;
    });
    const all = chunks.map(({ batch }) => batch);
    let given = 0;
    return {
      next: () => {
        const some = sorted.subarray(given, (given += blockRows));
        const picks = { batches: some.map((place) => itemAt(batches, place)), rows: some.map((place) => itemAt(rows, place)) };
        return Promise.resolve(some.length === 0 ? RecordBatch.empty : interleave(all, picks));
      },
    };
  }

  /** Writes the rows in memory as a run. */
  async #spill(): Promise<void> {
    await this.#runs.add(this.#inMemory(this.#runs.blockRows(this.#rows, this.#bytes)));
    this.#chunks = [];
    this.#bytes = 0;
    this.#rows = 0;
  }
}
