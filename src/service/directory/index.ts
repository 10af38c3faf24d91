import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { collectionNames, collections, originalName, type Collection } from '../../collections/index.js';
import { byName, itemAt, LeadstreamError } from '../../core/index.js';
import type { DataSource, ServedTable } from '../source.js';
import { ndjsonRecords, ndjsonRows } from './ndjson.js';
import { emptyTable, packTable } from './packed-table.js';
import type { TextRow } from './rows.js';

const readers = { csv: lazyCsvRows, ndjson: ndjsonRows, jsonl: ndjsonRows } as const;

/**
 * Serves the files of a folder that are named after the collections: `leads.csv`, `leads.ndjson` or `leads.jsonl`.
 *
 * A collection without a file is empty; other files are ignored. Rows keep the order of the file and stay in memory
 * as UTF-8, at most 2,147,483,647 bytes per collection. `csvRows` and `ndjsonRows` describe what a file may contain.
 *
 * @throws {LeadstreamError} `E_DATA` if the folder cannot be read, a collection has two files, or a file is
 * malformed or too large; the message names file and line.
 *
 * @example
 * await startService({ source: await openDirectory('out'), accounts });
 */
export async function openDirectory(directory: string): Promise<DataSource> {
  const entries = await readdir(directory).catch(() => {
    throw new LeadstreamError('E_DATA', `${directory}: is not a readable folder`);
  });
  const tables: ServedTable[] = [];
  for (const name of collectionNames) tables.push(await tableFiles(directory, entries, collections[name]));
  return byName(collectionNames, (_name, index) => itemAt(tables, index));
}

/**
 * Reads the table from the file in a folder that is named after a collection.
 *
 * @param asTheyAre Whether NDJSON records are served unchanged, instead of with a text in each field.
 */
export async function tableFiles(
  directory: string,
  entries: readonly string[],
  collection: Collection,
  asTheyAre = false,
): Promise<ServedTable> {
  const found = Object.entries(readers)
    .map(([extension, read]) => ({ entry: `${collection.name}.${extension}`, read }))
    .filter(({ entry }) => entries.includes(entry));
  const [first, second] = found;
  if (!first) return emptyTable;
  if (second) throw new LeadstreamError('E_DATA', `${directory}: holds both ${first.entry} and ${second.entry}; keep one`);
  const field = collection.fields[collection.id];
  const idName = field ? originalName(collection.id, field) : collection.id;
  const file = join(directory, first.entry);
  const rows = asTheyAre && first.read === ndjsonRows ? ndjsonRecords(file) : first.read(file, collection);
  return packTable(rows, { file, idName });
}

/** Uses fast-csv, which is loaded only if there is such a file. */
async function* lazyCsvRows(file: string, collection: Collection): AsyncGenerator<TextRow> {
  const { csvRows } = await import('./csv.js');
  yield* csvRows(file, collection);
}
