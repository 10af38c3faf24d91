import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { gunzipSync } from 'node:zlib';
import { join } from 'node:path';
import type { Row } from '../../collections/index.js';
import { SinkError } from '../../errors.js';
import { byName, contentOf } from './appending.js';
import { KeyIndex } from './key-index.js';
import type { Manifest } from './manifest.js';
import { keysName, type Table } from './table.js';
import { zstd } from './zstd.js';

/**
 * The key index of a published run: the file beside its manifest when it fits the key, otherwise made anew from the rows of the
 * table, a row group at a time.
 *
 * @param key Names of output columns.
 * @throws {SinkError} `E_SINK_KEY` when the table's rows have no such key.
 */
export async function indexOf(table: Table, run: string, manifest: Manifest, key: readonly string[]): Promise<KeyIndex> {
  const { keys } = manifest;
  if (keys && keys.rows === manifest.rows && keys.columns.join() === key.join()) {
    const index = await KeyIndex.load(join(table.folder(run), keysName));
    if (index?.rows === manifest.rows) return index;
  }
  const missing = key.find((name) => manifest.partition_by.includes(name) || !manifest.schema.some((column) => column.name === name));
  if (missing !== undefined)
    throw new SinkError('E_SINK_KEY', `${table.path}: the files of the table have no column ${missing}, which append needs as key`);
  const index = new KeyIndex();
  for (const { name } of manifest.files) await addFile(index, join(table.folder(run), name), key);
  return index;
}

async function addFile(index: KeyIndex, path: string, key: readonly string[]): Promise<void> {
  const { decompress } = await zstd();
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const compressors = { GZIP: (bytes: Uint8Array) => gunzipSync(bytes), ZSTD: decompress };
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const rows: readonly Row[] = await parquetReadObjects({ file, metadata, compressors, rowStart, rowEnd });
    for (const row of rows) {
      const values = Object.entries(row).sort(byName);
      index.add(
        key.map((name) => row[name] ?? null),
        contentOf(values),
      );
    }
    rowStart = rowEnd;
  }
}
