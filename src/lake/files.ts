import { join } from 'node:path';
import { SinkError } from '../core/index.js';
import { checkUsage } from '../options/index.js';
import { Stores } from '../store/index.js';
import { tableAt } from './formats.js';
import { folderOf } from './manifest.js';
import type { TableKind } from './partitions.js';
import { accessTaken, type TableAccess } from './access.js';
import { StoreTable } from './store-table.js';

/** The data files of a table as readers see it now. */
export interface TableFiles {
  readonly table: TableKind;
  /** Whether columns are in names of folders, as in Hive. */
  readonly isPartitioned: boolean;
  /** Absolute paths, or URLs such as `s3://bucket/lake/leads/data/RUN/part-00000.parquet`. */
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
  checkUsage('tableFiles', accessTaken, { path, options: { stores } });
  const table = await tableAt(path, stores);
  if (table instanceof StoreTable) {
    const { files, current } = await table.version();
    const names = files.map(({ name }) => `${table.path}/${name}`).sort();
    const by = current ? (await table.manifest(current)).manifest.partition_by : [];
    return { table: table.format.kind, isPartitioned: by.length > 0, files: names };
  }
  const run = await table.published();
  const manifest = run === undefined ? undefined : await table.manifest(run);
  if (run === undefined || manifest === undefined)
    throw new SinkError('E_SINK_FOREIGN', `${path} is not a leadstream table: there is no link to a run`);
  const files = manifest.files.map(({ name }) => join(table.folder(run), name));
  return { table: 'plain', isPartitioned: manifest.files.some((file) => folderOf(file) !== ''), files };
}
