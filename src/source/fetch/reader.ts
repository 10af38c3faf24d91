import { catchError, map, of, throwError, type Observable } from 'rxjs';
import type { Collection, RowOf } from '../../collections/index.js';
import { isAddressable, SourceError, type Redactor } from '../../core/index.js';
import { discreet, type Answer } from '../../http/index.js';
import type { JsonRecord } from '../../json/index.js';
import { batchFromRows, type RecordBatch } from '../../vector/index.js';
import { Decoder } from '../decode/decoder.js';
import type { Findings, KnownField } from '../decode/findings.js';
import { readSingle } from '../decode/records.js';
import { flattened, Listing, notFound, type ListAnswer, type ListingOptions, type ListRequest } from './listing.js';
import { isNotFound, type OnPath } from './target.js';

/** Reads one collection. Observables are cold: each subscription is one request with its retries, aborted on unsubscribe. */
export interface CollectionReader<T> {
  readonly collection: Collection;
  /** Rows requested per page, unless a request overrides it. */
  readonly limit: number;
  /**
   * Reads one page of the list, or the whole of one that is not paged.
   *
   * @param page Number as the service counts, usually from 1.
   * @throws {SourceError} If the page could not be read in spite of retries.
   */
  list(page: number): Observable<readonly T[]>;
  /** Sends a request with all its options, and also returns the bytes received. */
  request(request: ListRequest): Observable<ListAnswer>;
  /**
   * Decodes a stored answer; `counted` determines whether `findings` count it, which is the default. @throws {SourceError} If it is not a list of records.
   */
  decode(body: Uint8Array, counted?: boolean): ListAnswer;
  /**
   * Finds the records with an identifier: none, one, or (area codes) several.
   *
   * @throws {SourceError} `E_SOURCE_REFUSED` for an identifier that is empty, consists of dots or is not valid Unicode; it is never sent.
   */
  find(id: string): Observable<readonly T[]>;
  /** What rows had so far that the collection's definition does not mention. */
  readonly findings: Findings;
  /** Restarts the counts of `findings`, since everything read will come again. */
  recount(): void;
  /** Fixes the names of undeclared fields to match other places. Call it before reading. */
  reserve(fields: readonly KnownField[]): void;
}

/** The options shared by the readers of a service. */
export interface ReaderOptions extends Pick<ListingOptions, 'limit' | 'surroundings' | 'read'> {
  readonly redact: Redactor;
  readonly onPath: OnPath;
}

/**
 * @param reveal Secret columns to include.
 */
export function createReader<C extends Collection>(
  collection: C,
  reveal: readonly string[],
  { limit, surroundings, read, redact, onPath }: ReaderOptions,
): CollectionReader<RowOf<C>> {
  const decoder = new Decoder(collection, reveal, redact);
  const listing = new Listing({ collection, decoder, limit, surroundings, read });
  const request = (asked: ListRequest): Observable<ListAnswer> => onPath(collection, (path) => listing.request(path, asked));
  const found = (label: string, answer: Answer) => rowsIn<C>(batchFromRows(decoder.decode(recordsIn(label, answer, collection))));

  return {
    collection,
    limit,
    findings: decoder.findings,
    recount: () => decoder.recount(),
    reserve: (fields) => decoder.reserve(fields),
    decode: (body, counted) => {
      try {
        return listing.decode(body, counted);
      } catch (error) {
        throw discreet(error, redact);
      }
    },
    list: (page) => request(collection.paged ? { page } : {}).pipe(map(({ batch }) => rowsIn<C>(batch))),
    request,
    find: (id) => {
      if (!isAddressable(id)) {
        const message = `${collection.name}: an identifier must not be empty, only dots or invalid Unicode`;
        return throwError(() => new SourceError('E_SOURCE_REFUSED', 'permanent', message));
      }
      return onPath(collection, (path) => read({ collection, path, id }, found)).pipe(
        catchError((error: unknown) => (isNotFound(error) ? of([]) : throwError(() => error))),
      );
    },
  };
}

function recordsIn(path: string, answer: Answer, { served }: Collection): readonly JsonRecord[] {
  if (answer.status === 404) throw notFound(path, 'no such record');
  const records = readSingle(path, answer);
  return served ? flattened(records, served) : records;
}

/** A decoder returns the columns of its collection, which the type system cannot follow. */
function rowsIn<C extends Collection>(batch: RecordBatch): readonly RowOf<C>[] {
  return batch.rows() as readonly RowOf<C>[];
}
