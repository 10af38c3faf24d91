import { itemAt } from '../core/index.js';
import { digestsOf, keysOf, type RecordBatch } from '../vector/index.js';
import { KeySet } from '../flow/index.js';
import { textsOf } from './fingerprint.js';
import { outOfSequence } from './out-of-sequence.js';

/** A row that came again, by the position where it did. */
export interface Repeat {
  readonly position: number;
  /** Where it came first. */
  readonly first: number;
  readonly name: string;
}

/** What a pass has to say of a page: the rows that were not known, and those that came again within the pass. */
export interface Sighting {
  /** Indexes of rows whose key was not known. */
  readonly fresh: readonly number[];
  /** Rows whose key this pass had before: their indexes, and the places of the first ones, counted from 0 since the first read began. */
  readonly repeats: readonly { readonly row: number; readonly first: number }[];
  /** Rows whose key this pass had not. */
  readonly distinct: number;
  /** Rows that came with other batch than the first time. */
  readonly changed: number;
}

/**
 * The keys of a list, each with the place where the last pass first had it.
 *
 * Memory: at most 32 bytes per key, or per row that is expected, and while a further pass is read 4 bytes per row of it.
 */
export class SeenRows {
  readonly #keys: KeySet;
  /** Marks of this pass begin behind it. */
  #base = 0;
  #baseBefore = 0;
  #next = 1;
  #sequence: number[] | undefined;

  /** @param expected Rows that the list had the last time. */
  constructor(expected = 0) {
    this.#keys = new KeySet(undefined, true, expected);
  }

  /** Begins the next pass over the list. */
  beginPass(): void {
    this.#baseBefore = this.#base;
    this.#base = this.#next - 1;
    this.#sequence = [];
  }

  /** Whether this pass had a key. */
  inThisPass(name: string): boolean {
    return this.#keys.markOf(name) > this.#base;
  }

  /** Where the next row will be put. */
  get place(): number {
    return this.#next - 1;
  }

  /**
   * Takes the rows of a page.
   *
   * @param onRow Called with the mark that every key had before; 0 without one.
   */
  take(batch: RecordBatch, names: readonly string[], onRow?: (before: number) => void): Sighting {
    const digests = digestsOf(batch);
    const fresh: number[] = [];
    const repeats: { row: number; first: number }[] = [];
    let changed = 0;
    for (const [row, name] of names.entries()) {
      const { seen, before } = this.#keys.sight(name, itemAt(digests, row), this.#next, this.#base);
      this.#next += 1;
      onRow?.(before);
      if (seen === 'new') fresh.push(row);
      else if (seen === 'changed') changed += 1;
      if (before > this.#base) repeats.push({ row, first: before - 1 });
      else if (before > this.#baseBefore) this.#sequence?.push(before);
    }
    return { fresh, repeats, changed, distinct: names.length - repeats.length };
  }

  /** How many keys this pass has in common with the one before it. */
  get inCommon(): number {
    return this.#sequence?.length ?? 0;
  }

  /** The share of the keys that this pass has in common with the one before it, and that are out of sequence. */
  moved(): number {
    const sequence = this.#sequence ?? [];
    return sequence.length === 0 ? 0 : outOfSequence(Uint32Array.from(sequence)) / sequence.length;
  }
}

/** What rows are told apart by: their keys, or where these are missing all that they have. */
export function namesOf(batch: RecordBatch, key: readonly string[]): readonly string[] {
  const nameAt = keysOf(batch, key);
  let textOf: ((row: number) => string) | undefined;
  return Array.from({ length: batch.length }, (_, row) => nameAt(row) ?? (textOf ??= textsOf(batch))(row));
}
