import { itemAt, SinkError, StepError } from '../../core/index.js';
import { attempt, ScratchFile, type Extent } from '../../store/index.js';
import type { BatchReader, Collector, OnError, StepContext } from '../../flow/index.js';
import { decodeBlock, encodeBlock, interleave, RecordBatch, taking } from '../../vector/index.js';
import { keptRows } from '../on-error.js';
import { Merge, type Run } from './merge.js';
import type { Keys, Order } from './order.js';

export interface SorterOptions {
  /** What rows may take in memory, in bytes. */
  readonly memory: number;
  /** Private folder for what does not fit. */
  readonly folder: string;
  /** What becomes of a row whose key is not of its type. */
  readonly onError: OnError;
}

/** Rows of a page that are kept, with their keys. */
interface Chunk {
  readonly batch: RecordBatch;
  readonly keys: Keys;
}

/** Rows on each page that comes out. */
const pageRows = 1_000;

/** Most runs that are merged at once, each with a block in memory. */
const maxRuns = 64;

/**
 * Sorts rows in memory, and beyond it by sorted runs in a scratch file that are merged: stable, whatever the number of runs. Half of
 * the memory is for rows; the rest is for their order, for blocks on their way, and for what the runtime has not given back yet.
 */
export class Sorter implements Collector {
  #chunks: Chunk[] = [];
  #bytes = 0;
  #rows = 0;
  #scratch: ScratchFile | undefined;
  #runs: (readonly Extent[])[] = [];
  #closed = false;

  constructor(
    private readonly order: Order,
    private readonly options: SorterOptions,
    private readonly context: StepContext,
  ) {}

  async add(arrived: RecordBatch): Promise<void> {
    const chunk = this.#fit(arrived);
    if (chunk.batch.length === 0) return;
    this.#chunks.push(chunk);
    this.#rows += chunk.batch.length;
    this.#bytes += chunk.batch.byteLength() + chunk.keys.length * chunk.batch.length * 16;
    if (this.#bytes > this.options.memory / 2) await this.#spill();
  }

  async finish(): Promise<BatchReader> {
    if (this.#runs.length === 0) return new Merge([this.#inMemory(pageRows)], this.order, pageRows);
    if (this.#rows > 0) await this.#spill();
    while (this.#runs.length > maxRuns) await this.#mergeSome();
    return new Merge(
      this.#runs.map((extents) => this.#stored(extents)),
      this.order,
      pageRows,
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#chunks = [];
    const scratch = this.#scratch;
    this.#scratch = undefined;
    await scratch?.close();
  }

  /** Takes out the rows with a key that is not of its type, unless they come last. */
  #fit(batch: RecordBatch): Chunk {
    const { at } = this.context;
    const keys = this.order.keysOf(batch);
    const vectors = keys.map(({ vector }) => vector);
    if (this.options.onError === 'null') return { batch, keys: vectors };
    const outcomes = new Map(keys.map(({ field, ...mapped }) => [field, mapped]));
    const failure = (field: string, reason: string) => new StepError('E_STEP_VALUE', `${at}: field ${field} ${reason}`);
    const kept = keptRows(batch, outcomes, this.options.onError, this.context, failure);
    return kept === undefined ? { batch, keys: vectors } : { batch: batch.take(kept), keys: vectors.map(taking(kept)) };
  }

  /** The rows that are in memory, in their order, in blocks of so many. */
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
      const [a, b] = [itemAt(chunks, batches[one] ?? -1), itemAt(chunks, batches[other] ?? -1)];
      const order = this.order.compare(a.keys, rows[one] ?? 0, b.keys, rows[other] ?? 0);
      return order === 0 ? one - other : order;
    });
    const all = chunks.map(({ batch }) => batch);
    let given = 0;
    return {
      next: () => {
        const some = sorted.subarray(given, (given += blockRows));
        const picks = { batches: some.map((place) => batches[place] ?? 0), rows: some.map((place) => rows[place] ?? 0) };
        return Promise.resolve(some.length === 0 ? RecordBatch.empty : interleave(all, picks));
      },
    };
  }

  /** Writes the rows in memory as a run. */
  async #spill(): Promise<void> {
    const run = this.#inMemory(this.#blockRows());
    this.#runs.push(await this.#write(run));
    this.#chunks = [];
    this.#bytes = 0;
    this.#rows = 0;
  }

  /** Makes one of the runs that came first. */
  async #mergeSome(): Promise<void> {
    const first = this.#runs.splice(0, maxRuns).map((extents) => this.#stored(extents));
    this.#runs.unshift(await this.#write(new Merge(first, this.order, pageRows)));
  }

  async #write(run: Run): Promise<readonly Extent[]> {
    const extents: Extent[] = [];
    await this.#inScratch(async (scratch) => {
      for (let block = await run.next(); block.length > 0; block = await run.next()) extents.push(await scratch.append(encodeBlock(block)));
    });
    return extents;
  }

  #stored(extents: readonly Extent[]): Run {
    let at = 0;
    return {
      next: async () => {
        const extent = extents[at];
        at += 1;
        return extent ? decodeBlock(await this.#inScratch((scratch) => scratch.read(extent))) : RecordBatch.empty;
      },
    };
  }

  /** So many rows that a block of every run fits into a quarter of the memory. */
  #blockRows(): number {
    const blockBytes = this.options.memory / 4 / maxRuns;
    return Math.min(pageRows, Math.max(1, Math.floor((blockBytes * this.#rows) / this.#bytes)));
  }

  /** A step that is left while it works must not open a file that nobody would close. */
  async #opened(): Promise<ScratchFile> {
    const scratch = this.#scratch ?? (this.#closed ? undefined : await ScratchFile.open(this.options.folder));
    if (!this.#closed && scratch) return (this.#scratch = scratch);
    await scratch?.close();
    throw new StepError('E_STEP_SCRATCH', `${this.context.at}: it was left`);
  }

  async #inScratch<R>(work: (scratch: ScratchFile) => Promise<R>): Promise<R> {
    const { folder } = this.options;
    try {
      return await attempt('E_SINK_WRITE', `rows beyond its memory cannot be kept in ${folder}`, async () => work(await this.#opened()));
    } catch (failure) {
      if (!(failure instanceof SinkError)) throw failure;
      throw new StepError('E_STEP_SCRATCH', `${this.context.at}: ${failure.message}`, { cause: failure });
    }
  }
}
