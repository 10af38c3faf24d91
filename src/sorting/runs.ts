import { SinkError } from '../core/index.js';
import { attempt, ScratchFile, type Extent } from '../store/index.js';
import { decodeBlock, encodeBlock, RecordBatch } from '../vector/index.js';
import { Merge, type Run } from './merge.js';
import type { Order } from './order.js';

export interface RunsOptions {
  /** Memory for blocks in transit, in bytes. */
  readonly memory: number;
  /** Private folder for the file. */
  readonly folder: string;
  /** Creates the error to throw. */
  failed(message: string, cause?: unknown): Error;
}

/** Rows per output page. */
export const pageRows = 1_000;

/** Maximum number of runs merged at a time, each with a block in memory. */
const maxRuns = 64;

/**
 * Sorted runs of rows in a scratch file, which is created with the first run.
 *
 * Memory: a block of each run, while they are merged.
 */
export class Runs {
  #scratch: ScratchFile | undefined;
  #runs: (readonly Extent[])[] = [];
  #closed = false;

  constructor(
    private readonly order: Order,
    private readonly options: RunsOptions,
  ) {}

  get count(): number {
    return this.#runs.length;
  }

  /** Returns a number of rows such that one block of every run fits into the memory. @param bytes Size of `rows` rows. */
  blockRows(rows: number, bytes: number): number {
    return Math.min(pageRows, Math.max(1, Math.floor((this.options.memory / maxRuns) * (rows / bytes))));
  }

  /** Writes a run, block by block. */
  async add(run: Run): Promise<void> {
    this.#runs.push(await this.#write(run));
  }

  /** Returns all rows in order; equal rows are ordered by their run. */
  async merged(): Promise<Merge> {
    while (this.#runs.length > maxRuns) await this.#mergeSome();
    return new Merge(
      this.#runs.map((extents) => this.#stored(extents)),
      this.order,
      pageRows,
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    const scratch = this.#scratch;
    this.#scratch = undefined;
    await scratch?.close();
  }

  /** Merges the earliest runs into one. */
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

  /** Opens the scratch file, unless the step was closed while it worked: nothing would close the file then. */
  async #opened(): Promise<ScratchFile> {
    const scratch = this.#scratch ?? (this.#closed ? undefined : await ScratchFile.open(this.options.folder));
    if (!this.#closed && scratch) return (this.#scratch = scratch);
    await scratch?.close();
    throw this.options.failed('it was closed');
  }

  async #inScratch<R>(work: (scratch: ScratchFile) => Promise<R>): Promise<R> {
    const { folder, failed } = this.options;
    try {
      return await attempt('E_SINK_WRITE', `rows that exceed its memory cannot be stored in ${folder}`, async () =>
        work(await this.#opened()),
      );
    } catch (failure) {
      if (!(failure instanceof SinkError)) throw failure;
      throw failed(failure.message, failure);
    }
  }
}
