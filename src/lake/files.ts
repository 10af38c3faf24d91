import { join } from 'node:path';
import { amount, amountOf, type OutputColumn } from '../core/index.js';
import { checkUsage } from '../options/index.js';
import { closing, openRegular, removeFile, type ScratchFolder, Stores } from '../store/index.js';
import { accessParameters, type TableAccess, tableAt } from './formats.js';
import { fileColumns, folderOf, type LiveFile, type ManifestFile } from './manifest.js';
import type { TableKind } from './partitions.js';
import { notATable, type StoreTable } from './store-table.js';

/** The data files of a table as readers see it now. */
export interface TableFiles {
  readonly table: TableKind;
  /** Columns in the files; those that a later run added are not in all of them. */
  readonly columns: readonly Pick<OutputColumn, 'name' | 'type'>[];
  /** Columns in names of folders, as in Hive. */
  readonly folders: TableFiles['columns'];
  /** The current metadata of an Iceberg table, which readers without a catalog take. */
  readonly metadata?: string | undefined;
  /** Absolute paths, or URLs such as `s3://bucket/lake/leads/data/RUN/part-00000.parquet`; those of the newest run, which have all columns, come first. */
  readonly files: readonly string[];
}

/**
 * Lists the current data files of a table. A glob over a table on a store reads the files of several runs, so readers of a plain one take this list.
 *
 * @throws {SinkError} `E_SINK_FOREIGN` when there is no such table.
 *
 * @example
 * const { files } = await tableFiles('s3://lake/leads'); // ['s3://lake/leads/data/20260101T…/part-00000.parquet']
 */
export async function tableFiles(path: string, { stores = new Stores() }: TableAccess = {}): Promise<TableFiles> {
  checkUsage('tableFiles', accessParameters, { path, options: { stores } });
  const table = await tableAt(path, stores);
  const { files, current, metadata } = await table.version();
  const { manifest } = (current && (await table.manifest(current))) ?? {};
  if (!current || !manifest) throw notATable(path);
  const places = newestFirst(files).map((file) => table.placeOf(file, current));
  return { table: table.format.kind, ...fileColumns(manifest, files.some(isInFolder)), metadata, files: places };
}

function isInFolder(file: LiveFile): boolean {
  return folderOf(file) !== '';
}

/** Sorts by the run that wrote the file, the newest first, and by name. */
function newestFirst<T extends LiveFile & Partial<Pick<ManifestFile, 'written_by'>>>(files: readonly T[]): readonly T[] {
  const runOf = ({ name, written_by: run = name }: T) => run;
  return [...files].sort((a, b) => (runOf(a) > runOf(b) || (runOf(a) === runOf(b) && a.name < b.name) ? -1 : 1));
}

/** Works with an object, or with a copy of it where it is on another machine. */
export async function readingObject<T>(
  { linked, objects }: StoreTable,
  key: string,
  scratch: ScratchFolder | undefined,
  work: (path: string) => Promise<T>,
): Promise<T> {
  if (linked) return work(await linked.pathOf(key));
  const path = join(scratch?.path ?? '', 'copy.parquet');
  await objects.download(key, path);
  try {
    return await work(path);
  } finally {
    await removeFile(path);
  }
}

export async function localFault(path: string, bytes: number): Promise<string | undefined> {
  const look = async () =>
    closing(await openRegular(path), async (file) => {
      const { size } = await file.stat();
      if (size !== bytes) return sizeFault(size, bytes);
      const ends = Buffer.alloc(8);
      await file.read(ends, 0, 4, 0);
      await file.read(ends, 4, 4, Math.max(0, bytes - 4));
      return ends.toString('latin1') === 'PAR1PAR1' ? undefined : 'is not a Parquet file';
    });
  return look().catch((thrown: unknown) => `cannot be read: ${String(thrown)}`);
}

export function sizeFault(size: number | undefined, bytes: number): string | undefined {
  if (size === undefined) return 'is missing';
  return size === bytes ? undefined : `has ${amountOf(size, 'byte')}, but its manifest says ${amount(bytes)}`;
}
