import { type DeclaredType, type Value, textOf, type OutputColumn } from '../core/index.js';
import { memoOf, type Batch } from '../vector/index.js';

/** Name of the column for `{{ run.date }}` in `partition_by`. */
export const runDateColumn = 'run_date';

/** Folder name that Hive and compatible readers take for null. */
const nullName = '__HIVE_DEFAULT_PARTITION__';

/** Maximum length of a folder name, in bytes of UTF-8, in common file systems. */
const maxNameBytes = 255;

/** Rows for one folder, without the columns in its name. */
export interface PartitionedBatch {
  /** Below the run, `a=1/b=x`; empty without partitions. */
  readonly folder: string;
  readonly batch: Batch;
  /** The places of the rows among those that were split; `undefined` if they are all. */
  readonly places?: readonly number[];
}

/** Splits rows by the values of some columns. */
export interface Partitioning {
  /** Columns that stay in the files, as indexes into those of a batch. */
  readonly kept: readonly number[];
  /** Names of the folder levels: the fields, regardless of how `naming` renames them in files. */
  readonly names: readonly string[];
  /** The columns of folders, as seen by readers. */
  readonly columns: readonly OutputColumn[];
  /** Returns the parts by their first rows. */
  split(batch: Batch): readonly PartitionedBatch[];
}

export function partitionBy(columns: readonly OutputColumn[], by: readonly string[], runDate: string): Partitioning {
  const levels = by.map((field) => {
    const index = columns.findIndex((column) => column.field === field);
    const { original, type } = columns[index] ?? { original: runDateColumn, type: 'date' as const };
    const name = index < 0 ? runDateColumn : field;
    return { index, name, original, type, namesIn: memoOf((value) => folderName(name, value, type)) };
  });
  const kept = columns.map((_, index) => index).filter((index) => levels.every((level) => level.index !== index));
  const constant = folderName(runDateColumn, runDate, 'text');

  return {
    kept,
    names: levels.map(({ name }) => name),
    columns: levels.map(({ name, original, type }) => ({ name, field: name, original, type })),
    split: (batch) => {
      if (levels.length === 0) return [{ folder: '', batch }];
      const placesIn = new Map<string, number[]>();
      const parts = levels.map(({ index, namesIn }) => (index < 0 ? () => constant : namesIn(batch.column(index))));
      for (let row = 0; row < batch.rows; row += 1) {
        const folder = parts.map((nameOf) => nameOf(row)).join('/');
        const places = placesIn.get(folder);
        if (places) places.push(row);
        else placesIn.set(folder, [row]);
      }
      return [...placesIn].map(([folder, places]) => ({ folder, places, batch: batch.select(kept).keep(places) }));
    },
  };
}

/** Explains why a value cannot be in the name of a folder; `undefined` if it can. */
export function notForFolder(name: string, value: Value, type: DeclaredType): string | undefined {
  // Readers decode the name before they compare it, so no other spelling helps.
  if (value === nullName) return "is Hive's name for null, so the folder name would mean null";
  return Buffer.byteLength(folderName(name, value, type)) > maxNameBytes ? 'is too long for a folder name' : undefined;
}

/**
 * Returns `column=value` as Hive, Spark, Trino and DuckDB read it. ASCII characters other than letters, digits, `_`, `-` and `.` are percent-encoded,
 * so that no value can escape the table; other characters stay. Null and the empty text share one name.
 */
function folderName(column: string, value: Value, type: DeclaredType): string {
  const text = textOf(value, type) ?? '';
  if (text === '') return `${encoded(column)}=${nullName}`;
  // DuckDB before 2.0 reads this text as null unless it is encoded.
  const safe = /^null$/i.test(text) ? `%${hex(text)}${text.slice(1)}` : encoded(text);
  return `${encoded(column)}=${safe}`;
}

export function encoded(text: string): string {
  return text.replaceAll(/[\0-,/:-@[-^`{-\x7f]/g, (character) => `%${hex(character)}`);
}

function hex(text: string): string {
  return text.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0');
}
