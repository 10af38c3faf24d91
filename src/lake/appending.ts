import { itemAt, type Value, SinkError, type OutputColumn } from '../core/index.js';
import type { Batch } from '../vector/index.js';
import type { KeyIndex } from './key-index.js';

/** Leaves out the rows that a table has. */
export interface Appending {
  /** Rows left out so far. */
  readonly unchanged: number;
  /** Those of them whose content is another one than that in the table. */
  readonly changed: number;
  take(batch: Batch): Batch;
}

/**
 * @param kept Indexes of the columns in the files; the content of a row is what they hold, so that an index can be made from files.
 * @throws {SinkError} `E_SINK_KEY`, by `take`, when a key comes twice.
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

/** The order in which an index digests the values of a row. */
export function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** What an index digests of a row: names and values that are there, so that a column which was added later changes nothing. */
export function contentOf(values: readonly (readonly [name: string, value: Value])[]): readonly unknown[] {
  return values.flatMap(([name, value]) => (value === null ? [] : [name, value instanceof Date ? value.getTime() : value]));
}
