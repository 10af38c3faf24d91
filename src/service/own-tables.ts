import { readdir } from 'node:fs/promises';
import type { Collection, Served } from '../collections/index.js';
import { LeadstreamError } from '../core/index.js';
import { tableFiles } from './directory/index.js';
import { rowsOf, type ServedTable } from './source.js';

/** The rows of a collection that a user declared. */
export interface OwnTable {
  readonly collection: Collection;
  readonly table: ServedTable;
}

/**
 * Opens the files of a folder that are named after declared collections: `orders.csv`, `orders.ndjson` or `orders.jsonl`. Records of NDJSON are
 * served as they are, nested ones included. A collection without a file is empty.
 *
 * @throws {LeadstreamError} `E_USAGE` for a collection that is paged by anything but page numbers, `E_DATA` as for `openDirectory`.
 *
 * @example
 * await startService({ source: generate(), accounts, own: await openOwnTables('data', [orders]) });
 */
export async function openOwnTables(directory: string, collections: readonly Collection[]): Promise<readonly OwnTable[]> {
  const entries = await readdir(directory).catch(() => {
    throw new LeadstreamError('E_DATA', `${directory}: is not a readable folder`);
  });
  for (const { name, served } of collections) {
    const scheme = served?.paging.scheme ?? 'page';
    if (scheme !== 'page') throw new LeadstreamError('E_USAGE', `${name} is paged by ${scheme}; serve supports page numbers only`);
  }
  const opened: OwnTable[] = [];
  for (const collection of collections) opened.push({ collection, table: await tableFiles(directory, entries, collection, true) });
  return opened;
}

/** Most rows of a page. */
const cap = 500;

/** Returns the body of the requested page; `undefined` if the parameters are not valid. */
export function ownPage({ collection, table }: OwnTable, asked: Readonly<Record<string, string>>): string | undefined {
  const { served } = collection;
  if (served?.paging.scheme !== 'page') return undefined;
  const { param = 'page', limit = 'limit', first = 1 } = served.paging;
  const page = wholeNumber(asked[param], first);
  const size = wholeNumber(asked[limit], 30);
  if (page === undefined || size === undefined || page < first || size < 1) return undefined;
  const rows = Math.min(size, cap);
  return wrapped(served, `[${[...rowsOf(table, (page - first) * rows, rows)].join(',')}]`);
}

/** Nests a list where the declaration says that it is. */
function wrapped({ rows }: Served, list: string): string {
  return rows.reduceRight((inner, name) => `{${JSON.stringify(name)}:${inner}}`, list);
}

function wholeNumber(text: string | undefined, fallback: number): number | undefined {
  if (text === undefined) return fallback;
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
