import { interleave, RecordBatch } from '../vector/index.js';
import type { BatchReader } from '../flow/index.js';
import type { Keys, Order } from './order.js';

/** Sorted rows, block by block. */
export interface Run {
  /** Returns the next block; empty if there is none. */
  next(): Promise<RecordBatch>;
}

/** The position of the merge in a run. */
class Cursor {
  batch = RecordBatch.empty;
  keys: Keys = [];
  row = 0;

  constructor(
    private readonly run: Run,
    private readonly order: Order,
    /** Equal rows are ordered by their run, earlier runs first. */
    readonly place: number,
  ) {}

  /** @returns Whether there is a row. */
  async load(): Promise<boolean> {
    this.batch = await this.run.next();
    this.keys = this.order.keysOf(this.batch).map(({ vector }) => vector);
    this.row = 0;
    return this.batch.length > 0;
  }
}

/** Merges sorted runs into batches of `rows` rows. One block of each run is in memory, in addition to the output. */
export class Merge implements BatchReader {
  /** A heap of cursors, first row on top. */
  readonly #heap: Cursor[] = [];
  #opened = false;

  constructor(
    private readonly runs: readonly Run[],
    private readonly order: Order,
    private readonly rows: number,
  ) {}

  async next(): Promise<RecordBatch> {
    if (!this.#opened) await this.#open();
    const batches: RecordBatch[] = [];
    const placeOf = new Map<RecordBatch, number>();
    const picks: { batch: number; row: number }[] = [];
    for (let cursor = this.#heap[0]; cursor && picks.length < this.rows; cursor = this.#heap[0]) {
      const batch = placeOf.get(cursor.batch) ?? batches.push(cursor.batch) - 1;
      placeOf.set(cursor.batch, batch);
      picks.push({ batch, row: cursor.row });
      cursor.row += 1;
      if (cursor.row >= cursor.batch.length && !(await cursor.load())) this.#drop();
      this.#sink(0);
    }
    if (picks.length === 0) return RecordBatch.empty;
    return interleave(batches, {
      batches: Uint32Array.from(picks, ({ batch }) => batch),
      rows: Uint32Array.from(picks, ({ row }) => row),
    });
  }

  async #open(): Promise<void> {
    this.#opened = true;
    for (const [place, run] of this.runs.entries()) {
      const cursor = new Cursor(run, this.order, place);
      if (await cursor.load()) this.#heap.push(cursor);
    }
    for (let at = this.#heap.length >> 1; at >= 0; at -= 1) this.#sink(at);
  }

  /** Removes the first cursor. */
  #drop(): void {
    const last = this.#heap.pop();
    if (last && this.#heap.length > 0) this.#heap[0] = last;
  }

  #sink(from: number): void {
    const heap = this.#heap;
    for (let at = from; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let first = at;
      if (this.#isBefore(left, first)) first = left;
      if (this.#isBefore(right, first)) first = right;
      const [one, other] = [heap[at], heap[first]];
      if (first === at || !one || !other) return;
      heap[at] = other;
      heap[first] = one;
      at = first;
    }
  }

  #isBefore(at: number, other: number): boolean {
    const [one, two] = [this.#heap[at], this.#heap[other]];
    if (!one || !two) return false;
    const order = this.order.compare(one.keys, one.row, two.keys, two.row);
    return order === 0 ? one.place < two.place : order < 0;
  }
}
