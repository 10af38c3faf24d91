import type { Collection, CollectionName } from '../../../collections/index.js';
import { amountOf, isAddressable, LeadstreamError, SourceError, type Row } from '../../../core/index.js';
import type { CollectionStream, Service } from '../../../source/index.js';
import type { RowSearch } from './explanation.js';

/** The record to find. */
export interface Wanted {
  readonly collection: Collection;
  /** Values of the key, in the order of its columns. */
  readonly key: readonly string[];
  readonly reveal: readonly string[];
  /** Maximum number of rows of the list to search. */
  readonly scan: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Finds a record: by a single read if the service supports it, otherwise in the list.
 *
 * @throws {LeadstreamError} `E_ROW_NOT_FOUND`; whatever reading the service throws.
 */
export async function findRecord(service: Service, wanted: Wanted): Promise<{ readonly row: Row; readonly search: RowSearch }> {
  const single = wanted.collection.served ? undefined : await singleRead(service, wanted);
  if (single && typeof single !== 'string') return { row: single, search: { by: 'single read', because: undefined, looked: 0 } };
  return inList(service, wanted, single);
}

/** @returns The record, or why there is none. */
async function singleRead(service: Service, wanted: Wanted): Promise<Row | string> {
  const { collection, key, reveal, signal } = wanted;
  const id = key[collection.key.indexOf(collection.id)];
  if (id === undefined || !isAddressable(id)) return 'that identifier cannot be part of a URL path';
  try {
    const rows: readonly Row[] = await streamOf(service, collection, reveal).find(id, { ...(signal && { signal }) });
    const found = rows.find((row) => isWanted(row, wanted));
    if (found) return found;
    return rows.length === 0 ? 'the single read returned no record' : 'the single read returned other records';
  } catch (error) {
    if (error instanceof SourceError && (error.code === 'E_SOURCE_REFUSED' || error.code === 'E_SOURCE_ANSWER'))
      return `the single read failed (${error.code})`;
    throw error;
  }
}

async function inList(
  service: Service,
  wanted: Wanted,
  because: string | undefined,
): Promise<{ readonly row: Row; readonly search: RowSearch }> {
  const { collection, reveal, scan, signal } = wanted;
  let looked = 0;
  const rows = streamOf(service, collection, reveal).with({ consistency: 'off', ...(signal && { signal }) });
  for await (const row of rows) {
    looked += 1;
    if (isWanted(row, wanted)) return { row, search: { by: 'list', because, looked } };
    if (looked >= scan) break;
  }
  const where =
    looked >= scan
      ? `among the first ${amountOf(looked, 'row')} of the list; --scan searches more of them`
      : `in the list of ${amountOf(looked, 'row')}`;
  const before = because === undefined ? '' : `${because}, and `;
  throw new LeadstreamError(
    'E_ROW_NOT_FOUND',
    `${collection.name}: ${before}there is no record with that ${collection.key.join(' + ')} ${where}`,
  );
}

/** Returns the rows of a collection, which may be defined by the file. */
export function streamOf(service: Service, { name }: Collection, reveal: readonly string[]): CollectionStream<Row, Row> {
  // Custom collections were passed to the connection; a collection known only by its name has rows with any fields.
  const stream: CollectionStream<Row, Row> = service.collection(name as CollectionName);
  return stream.with({ reveal });
}

function isWanted(row: Row, { collection, key }: Wanted): boolean {
  return collection.key.every((column, index) => row[column] === key[index]);
}
