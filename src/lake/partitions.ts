import { itemAt, msPerDay, SinkError, type DeclaredType, type Value, textOf, type OutputColumn } from '../core/index.js';
import { daysOf, memoOf, type Batch } from '../vector/index.js';

/** Name of the column for `{{ run.date }}` in `partition_by`. */
export const runDateColumn = 'run_date';

/** Folder name that Hive and compatible readers take for null. */
const nullName = '__HIVE_DEFAULT_PARTITION__';

/** Folder name for the empty text where null is another partition. No text gets it, since only ASCII characters are encoded. */
const emptyName = '%E2%88%85';

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

/**
 * What tells readers the partition of a file: the names of folders (`plain`), in which the empty text is null, the log of Delta, in which it is null, too,
 * or the manifests of Iceberg.
 */
export const tableKinds = ['plain', 'iceberg', 'delta'] as const;

export type TableKind = (typeof tableKinds)[number];

/** How the files of a table are partitioned, in the words of Iceberg: https://iceberg.apache.org/spec/#partition-transforms */
export interface PartitionField {
  /** Name of a column in the files. */
  readonly source: string;
  readonly transform: 'identity' | 'month' | 'day';
  readonly name: string;
}

/** A level of folders. */
export interface PartitionTerm {
  readonly field: string;
  readonly transform: keyof typeof transforms;
  /** Name of the level: the field, regardless of how `naming` renames it in files, or `timestamp_month`. */
  readonly name: string;
}

/** Splits rows by the values of some columns. */
export interface Partitioning {
  /** Columns that stay in the files: all for Iceberg. */
  readonly inFiles: readonly OutputColumn[];
  /** Those, and the columns of folders, as seen by readers. */
  readonly columns: readonly OutputColumn[];
  /** What `partition_by` says, with a name for the date of the run. */
  readonly names: readonly string[];
  readonly fields: readonly PartitionField[];
  /** Returns the parts by their first rows. */
  split(batch: Batch): readonly PartitionedBatch[];
  /** Returns the results of the transforms for a folder that was split off, by level. */
  valuesOf(folder: string): readonly Value[];
}

/** The transforms of Iceberg, by months and days since 1970, and how these are written in names of folders. */
const transforms = {
  // -0 has the folder of 0.
  identity: { of: (value: Value) => (value === 0 ? 0 : value), textOf },
  month: {
    of: (value: Value) => (value instanceof Date ? BigInt((value.getUTCFullYear() - 1970) * 12 + value.getUTCMonth()) : null),
    textOf: (months: Value) => (months === null ? null : new Date(Date.UTC(1970, Number(months))).toISOString().slice(0, 7)),
  },
  day: {
    of: (value: Value) => (value instanceof Date ? BigInt(daysOf(value)) : null),
    textOf: (days: Value) => (days === null ? null : textOf(new Date(Number(days) * msPerDay), 'date')),
  },
} as const;

/** Reads an entry of `partition_by`: a field, or for Iceberg also `month(timestamp)` and `day(timestamp)`. */
export function partitionTerm(text: string, kind: TableKind): PartitionTerm {
  const [, transform, field] = kind === 'iceberg' ? (/^(month|day)\((.+)\)$/.exec(text) ?? []) : [];
  if (field === undefined || (transform !== 'month' && transform !== 'day')) return { field: text, transform: 'identity', name: text };
  return { field, transform, name: `${field}_${transform}` };
}

/** @throws {SinkError} `E_SINK_VALUE` for the month or day of a column that has none. */
export function partitionBy(
  columns: readonly OutputColumn[],
  by: readonly string[],
  runDate: string,
  kind: TableKind = 'plain',
): Partitioning {
  const levels = by.map((text) => levelOf(partitionTerm(text, kind), columns, runDate, kind));
  const inFolders = kind === 'iceberg' ? [] : levels;
  const kept = [...columns.keys()].filter((index) => inFolders.every((level) => level.index !== index));
  const inFiles = kept.map((index) => itemAt(columns, index));
  const values = new Map<string, readonly Value[]>([['', []]]);

  return {
    inFiles,
    columns: [...inFiles, ...inFolders.map(({ name, original, type }) => ({ name, field: name, original, type }))],
    names: by.map((text, level) => (itemAt(levels, level).index < 0 ? runDateColumn : text)),
    fields: levels.map(({ index, transform, name }) => ({ source: columns[index]?.name ?? runDateColumn, transform, name })),
    split: (batch) => {
      if (levels.length === 0) return [{ folder: '', batch }];
      const placesIn = new Map<string, number[]>();
      const parts = levels.map(({ namesIn }) => namesIn(batch));
      for (let row = 0; row < batch.rows; row += 1) {
        const folder = parts.map((nameOf) => nameOf(row)).join('/');
        const places = placesIn.get(folder);
        if (places) places.push(row);
        else placesIn.set(folder, [row]);
      }
      for (const [folder, [row = 0]] of placesIn) {
        const found = values.get(folder) ?? levels.map(({ valueAt }) => valueAt(batch, row));
        values.set(folder, found);
      }
      return [...placesIn].map(([folder, places]) => ({ folder, places, batch: batch.select(kept).keep(places) }));
    },
    valuesOf: (folder) => {
      const found = values.get(folder);
      if (found === undefined) throw new Error(`no rows are in the partition ${folder}`);
      return found;
    },
  };
}

function levelOf(term: PartitionTerm, columns: readonly OutputColumn[], runDate: string, kind: TableKind) {
  const { field, transform, name } = term;
  const index = columns.findIndex((column) => column.field === field);
  const { original, type } = columns[index] ?? { original: runDateColumn, type: 'text' };
  if (transform !== 'identity' && type !== 'timestamp' && type !== 'date')
    throw new SinkError('E_SINK_VALUE', `${transform}(${field}) in partition_by needs a timestamp or date`);
  if (index < 0) {
    const constant = folderName({ transform, name: runDateColumn }, runDate, 'text', kind);
    const [namesIn, valueAt] = [() => () => constant, () => new Date(runDate)];
    return { index, transform, name: runDateColumn, original, type: 'date' as const, namesIn, valueAt };
  }
  const { of } = transforms[transform];
  const nameOf = (result: Value) => folderName(term, result, type, kind);
  const known = new Map<Value, string>();
  const knownNameOf = (result: Value) => {
    const found = known.get(result) ?? nameOf(result);
    known.set(result, found);
    return found;
  };
  const namesOf = memoOf(transform === 'identity' ? nameOf : (value) => knownNameOf(of(value)));
  const valueAt = (batch: Batch, row: number) => of(batch.column(index).value(row));
  return { index, transform, name, original, type, namesIn: (batch: Batch) => namesOf(batch.column(index)), valueAt };
}

/** Explains why a value cannot be in the name of a folder; `undefined` if it can. */
export function notForFolder(name: string, value: Value, type: DeclaredType, kind: TableKind = 'plain'): string | undefined {
  if (kind === 'delta' && value === '') return 'is empty, which Delta takes for null in a column of partition_by';
  // Readers decode the name before they compare it, so no other spelling helps.
  if (value === nullName) return "is Hive's name for null, so the folder name would mean null";
  const length = Buffer.byteLength(folderName({ name, transform: 'identity' }, value, type, kind));
  return length > maxNameBytes ? 'is too long for a folder name' : undefined;
}

/**
 * Returns `column=value` as Hive, Spark, Trino and DuckDB read it. ASCII characters other than letters, digits, `_`, `-` and `.` are percent-encoded,
 * so that no value can escape the table; other characters stay. Null and the empty text share one name, except for Iceberg, which does not read it.
 *
 * @param value The result of the transform.
 * @param type The type of the column.
 */
export function folderName(
  { name: column, transform }: Pick<PartitionTerm, 'name' | 'transform'>,
  value: Value,
  type: DeclaredType,
  kind: TableKind,
): string {
  const text = transforms[transform].textOf(value, type) ?? '';
  if (kind === 'iceberg' && value === '') return `${encoded(column)}=${emptyName}`;
  if (text === '') return `${encoded(column)}=${nullName}`;
  // DuckDB before 2.0 reads this text as null unless it is encoded.
  const safe = /^null$/i.test(text) ? `%${hex(text)}${text.slice(1)}` : encoded(text);
  return `${encoded(column)}=${safe}`;
}

/** Returns the values in the name of a folder as texts, by level. */
export function textsIn(folder: string): readonly (string | null)[] {
  const names = folder.split('/').map((level) => level.slice(level.indexOf('=') + 1));
  return names.map((name) => (name === nullName ? null : decodeURIComponent(name)));
}

export function encoded(text: string): string {
  return text.replaceAll(/[\0-,/:-@[-^`{-\x7f]/g, (character) => `%${hex(character)}`);
}

function hex(text: string): string {
  return text.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0');
}
