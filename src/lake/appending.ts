import { itemAt, type Value, SinkError, type OutputColumn } from '../core/index.js';
import type { Batch } from '../vector/index.js';
import type { KeyIndex } from './key-index.js';

/** Leaves out rows that the table already has. */
export interface Appending {
  /** Number of rows left out so far. */
  readonly unchanged: number;
  /** How many of them have different content in the table. */
  readonly changed: number;
  take(batch: Batch): Batch;
}

/**
 * @param kept Indexes of the columns stored in the files. They are the content of a row, so that an index can be built from the files.
 * @throws {SinkError} `E_SINK_KEY`, from `take`, when a key occurs twice.
 */
export function appending(
  at: string,
  index: KeyIndex,
  columns: readonly OutputColumn[],
  key: readonly OutputColumn[],
  kept: readonly number[],
): Appending {
  const keyAt = key.map((column) => columns.indexOf(column));
  const contentAt = kept.map((index) => [itemAt(columns, index).name, index] as const).sort(byName);
  let unchanged = 0;
  let changed = 0;

  function isNew(batch: Batch, row: number): boolean {
    const valueOf = (column: number): Value => batch.column(column).value(row);
    const seen = index.see(keyAt.map(valueOf), contentOf(contentAt.map(([name, column]) => [name, valueOf(column)])));
    if (seen === 'new') return true;
    unchanged += 1;
    if (seen === 'changed') changed += 1;
    return false;
  }

  return {
    get unchanged() {
      return unchanged;
    },
    get changed() {
      return changed;
    },
    take: (batch) => {
      const fresh: number[] = [];
      try {
        for (let row = 0; row < batch.rows; row += 1) if (isNew(batch, row)) fresh.push(row);
      } catch (failure) {
        if (!(failure instanceof SinkError)) throw failure;
        throw new SinkError(failure.code, `${at}: ${failure.message} (${key.map(({ name }) => name).join(' + ')})`);
      }
      return batch.keep(fresh);
    },
  };
}

/** Sorts the values of a row by column name, the order in which an index digests them. */
export function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** Returns the content of a row that an index digests: the names and values that are not null, so that a column added later changes nothing. */
export function contentOf(values: readonly (readonly [name: string, value: Value])[]): readonly unknown[] {
  return values.flatMap(([name, value]) => (value === null ? [] : [name, value instanceof Date ? value.getTime() : value]));
}
