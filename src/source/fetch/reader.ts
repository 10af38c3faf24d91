import { catchError, map, of, throwError, type Observable } from 'rxjs';
import type { Collection, RowOf } from '../../collections/index.js';
import { isAddressable, SourceError, type Redactor } from '../../core/index.js';
import { discreet, type Answer } from '../../http/index.js';
import type { JsonRecord } from '../../json/index.js';
import { batchFromRows, type RecordBatch } from '../../vector/index.js';
import { Decoder } from '../decode/decoder.js';
import type { Findings, KnownField } from '../decode/findings.js';
import { readSingle } from '../decode/records.js';
import { flattened } from './listed.js';
import { Listing, notFound, type ListAnswer, type ListingOptions, type ListRequest } from './listing.js';
import { isNotFound, type OnPath } from './paths.js';

/** Reads one collection. Observables are cold: each subscription is one request with its retries, aborted on unsubscribe. */
export interface CollectionReader<T> {
  readonly collection: Collection;
  /** Rows asked for per page, unless a request says otherwise. */
  readonly limit: number;
  /**
   * One page of the list, or the whole of one that is not paged.
   *
   * @param page Number as the service counts, usually from 1.
   * @throws {SourceError} When the page could not be read in spite of retries.
   */
  list(page: number): Observable<readonly T[]>;
  /** The same with everything that a request can say, and with the bytes that came. */
  request(request: ListRequest): Observable<ListAnswer>;
  /** An answer that was kept; `counted` says whether `findings` count it, by default they do. @throws {SourceError} When it is no list of records. */
  decode(body: Uint8Array, counted?: boolean): ListAnswer;
  /**
   * The records with an identifier: none, one, or (area codes) several.
   *
   * @throws {SourceError} `E_SOURCE_REFUSED` for an identifier that is empty, made of dots or no valid Unicode; it is never
   * sent.
   */
  find(id: string): Observable<readonly T[]>;
  /** What rows had so far that the definition of the collection does not say. */
  readonly findings: Findings;
  /** Makes `findings` count from here on, since all that was read comes again. */
  recount(): void;
  /** Gives undeclared fields the names that they have elsewhere. To be called before anything is read. */
  reserve(fields: readonly KnownField[]): void;
}

/** What the readers of a service have in common. */
export interface ReaderOptions extends Pick<ListingOptions, 'limit' | 'surroundings' | 'read'> {
  readonly redact: Redactor;
  readonly onPath: OnPath;
}

/** @param reveal Secret columns that are wanted. */
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
        const message = `${collection.name}: an identifier must not be empty, made of dots or no valid Unicode`;
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

/** A decoder makes the columns of its collection, which the type system cannot follow. */
function rowsIn<C extends Collection>(batch: RecordBatch): readonly RowOf<C>[] {
  return batch.rows() as readonly RowOf<C>[];
}
