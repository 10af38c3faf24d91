import { join } from 'node:path';
import { SinkError } from '../core/index.js';
import { byName, contentOf } from './appending.js';
import { KeyIndex } from './key-index.js';
import type { Manifest } from './manifest.js';
import { readGroups } from '../parquet/index.js';
import type { Table } from './table.js';

/**
 * Returns the key index of a published run: from the file next to its manifest if that fits the key, otherwise rebuilt from the rows of the table,
 * one row group at a time.
 *
 * @param key Names of output columns.
 * @throws {SinkError} `E_SINK_KEY` when the table's rows have no such key, or it does not identify them.
 */
export async function indexOf(table: Table, run: string, manifest: Manifest, key: readonly string[]): Promise<KeyIndex> {
  const { keys } = manifest;
  if (keys && keys.rows === manifest.rows && keys.columns.join() === key.join()) {
    const index = await KeyIndex.load(table.keysPath(run), keys.sha256);
    if (index?.rows === manifest.rows) return index;
  }
  const missing = key.find((name) => manifest.partition_by.includes(name) || !manifest.schema.some((column) => column.name === name));
  if (missing !== undefined)
    throw new SinkError('E_SINK_KEY', `${table.path}: the files of the table have no column ${missing}, which append needs as its key`);
  const index = new KeyIndex();
  for (const { name } of manifest.files) await addFile(index, table, join(table.folder(run), name), key);
  return index;
}

async function addFile(index: KeyIndex, table: Table, path: string, key: readonly string[]): Promise<void> {
  for await (const rows of readGroups(path)) {
    for (const row of rows) {
      const added = index.add(
        key.map((name) => row[name] ?? null),
        contentOf(Object.entries(row).sort(byName)),
      );
      if (added !== 'new') throw noKey(table, key, added);
    }
  }
}

function noKey(table: Table, key: readonly string[], fault: 'empty' | 'twice'): SinkError {
  const rows = fault === 'twice' ? 'two rows of the table have the same key' : 'a row of the table has an empty key';
  const remedy = 'name columns under key that identify every row, or publish the table again with mode: replace';
  return new SinkError('E_SINK_KEY', `${table.path}: ${rows} (${key.join(' + ')}), so append cannot continue; ${remedy}`);
}
