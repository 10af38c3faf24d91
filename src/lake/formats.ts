import { lstat } from 'node:fs/promises';
import { callable, filledText, object } from '../options/index.js';
import { DiskObjects, isRemote, type ObjectStore, type ObjectStores, runsFolderOf } from '../store/index.js';
import { DeltaFormat } from './delta/index.js';
import { fileCatalog, IcebergFormat, notedCatalog, noteKey, type Catalog } from './iceberg/index.js';
import type { TableFormat } from './format.js';
import { LinkFormat } from './link-format.js';
import type { TableKind } from './partitions.js';
import { PointerFormat } from './pointer.js';
import { StoreTable } from './store-table.js';
import { type Participant, sharedFormat, TogetherFormat } from './together.js';

/** How a table on a store is reached. Default: as the environment says. */
export interface TableAccess {
  readonly stores?: ObjectStores | undefined;
}

export const storesOption = object({ at: callable }, ['at'], 'open');
export const accessParameters = object({ path: filledText, options: object({ stores: storesOption }) }, ['path']);

/** Finds what is at a path. @param path Absolute, or with the scheme of a store. */
export async function tableAt(path: string, stores: ObjectStores): Promise<StoreTable> {
  if (!isRemote(path) && (await lstat(path).catch(() => undefined))?.isDirectory() !== true) return linkedTable(path);
  const objects = stores.at(path);
  for await (const { key } of objects.list('metadata/'))
    if (key.endsWith('.metadata.json')) return storeTable(objects, 'iceberg', await notedCatalog(objects, process.env));
  for await (const { key } of objects.list('_delta_log/')) if (key.endsWith('.json')) return storeTable(objects, 'delta');
  const shared = await sharedFormat(objects, stores);
  return shared || isRemote(path) ? new StoreTable(objects, shared ?? new PointerFormat(objects)) : linkedTable(path);
}

/** Returns whether a table is in a catalog. It has no lock next to it then, because a catalog may allow nothing but tables there. */
export async function isInCatalog(path: string, stores: ObjectStores): Promise<boolean> {
  return isRemote(path) && (await stores.at(path).find(noteKey)) !== undefined;
}

/** Returns a plain table of this machine, which need not exist. @param path Absolute path of its link. */
export function linkedTable(path: string): StoreTable {
  const objects = new DiskObjects(runsFolderOf(path));
  return new StoreTable(objects, new LinkFormat(objects, path));
}

/**
 * Returns a table on a store, which need not exist.
 *
 * @param catalog Of Iceberg. Default: the files below `metadata/`.
 * @param participant Of a plain table that is published together with others.
 */
export function storeTable(objects: ObjectStore, kind: TableKind, catalog?: Catalog, participant?: Participant): StoreTable {
  const formats: Readonly<Record<TableKind, () => TableFormat>> = {
    plain: () => (participant ? new TogetherFormat(objects, participant) : new PointerFormat(objects)),
    iceberg: () => new IcebergFormat(catalog ?? fileCatalog(objects), objects),
    delta: () => new DeltaFormat(objects),
  };
  return new StoreTable(objects, formats[kind]());
}
