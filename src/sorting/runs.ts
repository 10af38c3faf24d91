import { SinkError } from '../core/index.js';
import { attempt, ScratchFile, type Extent } from '../store/index.js';
import { decodeBlock, encodeBlock, RecordBatch } from '../vector/index.js';
import { Merge, type Run } from './merge.js';
import type { Order } from './order.js';

export interface RunsOptions {
  /** What blocks on their way may take in memory, in bytes. */
  readonly memory: number;
  /** Private folder for the file. */
  readonly folder: string;
  /** Makes what it fails with. */
  failed(message: string, cause?: unknown): Error;
}

/** Rows on each page that comes out. */
export const pageRows = 1_000;

/** Most runs that are merged at once, each with a block in memory. */
const maxRuns = 64;

/**
 * Sorted runs of rows in a scratch file, which is made with the first of them.
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

  /** So many rows that a block of every run fits into the memory. @param bytes What so many rows take. */
  blockRows(rows: number, bytes: number): number {
    return Math.min(pageRows, Math.max(1, Math.floor((this.options.memory / maxRuns) * (rows / bytes))));
  }

  /** Writes a run, block by block. */
  async add(run: Run): Promise<void> {
    this.#runs.push(await this.#write(run));
  }

  /** All rows in their order, those of earlier runs before the same ones of later runs. */
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

  /** A step that is left while it works must not open a file that nobody would close. */
  async #opened(): Promise<ScratchFile> {
    const scratch = this.#scratch ?? (this.#closed ? undefined : await ScratchFile.open(this.options.folder));
    if (!this.#closed && scratch) return (this.#scratch = scratch);
    await scratch?.close();
    throw this.options.failed('it was left');
  }

  async #inScratch<R>(work: (scratch: ScratchFile) => Promise<R>): Promise<R> {
    const { folder, failed } = this.options;
    try {
      return await attempt('E_SINK_WRITE', `rows beyond its memory cannot be kept in ${folder}`, async () => work(await this.#opened()));
    } catch (failure) {
      if (!(failure instanceof SinkError)) throw failure;
      throw failed(failure.message, failure);
    }
  }
}
