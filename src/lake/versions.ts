import { type OutputColumn, SinkError, type Value } from '../core/index.js';
import { Batch, FlatVector } from '../vector/index.js';
import { folderOf, type LiveFile, type Manifest } from './manifest.js';

const addedColumn = (name: string, comment: string, type: OutputColumn['type'] = 'timestamp'): OutputColumn => ({
  ...{ name, field: name, original: name, type, comment },
});
// Tables know these columns by their comments, so the texts are part of the layout.
/** The column that `on_missing: mark` adds. */
export const deletedAt = addedColumn('deleted_at', 'When a run first found that the row was gone from the list; null while it is there.');
/** The columns of half-open intervals: a version is current from its beginning to the instant before its end. */
export const validFrom = addedColumn('valid_from', 'When the run began that first saw this version of the row.');
const validTo = addedColumn('valid_to', 'When the run began that first did not see it any more; null for the current one.');
/** The first level of partitions, so that versions that end are added to files that no later run reads. */
export const isCurrent = addedColumn('is_current', 'Whether no run has seen a later version, or found the row gone.', 'flag');

export interface AddingOptions {
  readonly on_missing?: string | undefined;
  readonly history?: boolean | undefined;
}

/** Returns the columns that a table has besides those of its rows. */
export function addedColumns({ on_missing: onMissing, history = false }: AddingOptions): readonly OutputColumn[] {
  return [...(onMissing === 'mark' ? [deletedAt] : []), ...(history ? [validFrom, validTo, isCurrent] : [])];
}

/** Returns the place of a column that was added; -1 if there is none. The comments of other columns say where they come from. */
export function placeOfAdded({ field, comment }: OutputColumn, columns: readonly OutputColumn[]): number {
  return columns.findIndex((column) => column.field === field && column.comment === comment);
}

/** Returns rows with the values that new ones have in such columns. */
export function withAdded({ rows, columns }: Batch, options: AddingOptions, boundary: Date | undefined): Batch {
  const values = new Map<OutputColumn, Value>([[isCurrent, true]]).set(validFrom, boundary ?? null);
  const vectorOf = (column: OutputColumn) => new FlatVector(new Array<Value>(rows).fill(values.get(column) ?? null));
  return new Batch(rows, [...columns, ...addedColumns(options).map(vectorOf)]);
}

/** Returns rows that are gone as a table keeps them: marked, or as versions that ended. @param columns Those of the rows. */
export function goneAt(time: Date, rows: Batch, columns: readonly OutputColumn[]): Batch {
  const values = new Map<OutputColumn, Value>([[deletedAt, time]]).set(validTo, time).set(isCurrent, false);
  return [...values].reduce((batch, [column, value]) => withValues(batch, columns, column, () => value), rows);
}

/** Returns rows with other values in an added column, if they have it. @param columns Those of the rows. */
export function withValues(rows: Batch, columns: readonly OutputColumn[], of: OutputColumn, valueOf: (old: Value, row: number) => Value) {
  const at = placeOfAdded(of, columns);
  return at < 0 ? rows : new Batch(rows.rows, rows.columns.with(at, new FlatVector(rows.column(at).toArray().map(valueOf))));
}

const currentFolder = /^is_current=true(?=\/|$)/;

/** Returns the folder of the versions that ended of those in a folder. */
export function endedFolderOf(folder: string): string {
  return folder.replace(currentFolder, 'is_current=false');
}

/** Whether the key index has the rows of a file: of a table with history, those of current versions. */
export function isIndexed(file: Pick<LiveFile, 'name' | 'folder'>, columns: readonly OutputColumn[]): boolean {
  return placeOfAdded(isCurrent, columns) < 0 || currentFolder.test(folderOf(file));
}

/**
 * Returns when the versions of a run begin, and those that they replace end: after all earlier ones, even if the clock was set back.
 *
 * @param firstStart When the run began, or the one whose pages it goes on with: ISO 8601.
 * @throws {SinkError} `E_SINK_CONFIG` for a table whose versions this run would lose, or that has none.
 */
export function boundaryOf(at: string, before: Manifest | undefined, { history = false }: AddingOptions, firstStart: string) {
  const was = before?.history;
  if (before && history !== (was !== undefined))
    throw new SinkError('E_SINK_CONFIG', `${at}: the table was written ${was ? 'with' : 'without'} history; choose another path`);
  return history ? new Date(Math.max(Date.parse(firstStart), was ? Date.parse(was.boundary) + 1 : 0)) : undefined;
}
