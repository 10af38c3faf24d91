import { map, type Observable } from 'rxjs';
import type { Collection, Served } from '../../collections/index.js';
import { SourceError } from '../../core/index.js';
import { batchFromRows, RecordBatch } from '../../vector/index.js';
import type { Decoder } from '../decode/decoder.js';
import { readList } from '../decode/records.js';
import { scan } from '../decode/scan.js';
import { opened, packed } from './envelope.js';
import type { ScannedAnswer } from './fetching.js';
import { listQuery } from './list-query.js';
import { flattened, listIn } from './listed.js';
import type { Surroundings } from './next-link.js';
import { nextAfter } from './next-page.js';
import { noSuchList } from './paths.js';
import { isSequential, positionAt, type Position } from './position.js';
import type { Asked } from './target.js';

/** One page of a list. */
export interface ListRequest {
  /** Number as the service counts, usually from 1; in a list without page numbers, the ordinal. Without it, neither page nor limit is sent. */
  readonly page?: number;
  /** Where a list without page numbers continues. Default: at the beginning. */
  readonly position?: Position | undefined;
  /** Rows per page, or `null` for the service's default; default the client's limit. */
  readonly limit?: number | null;
  /** `probe` marks a request that only checks, for the log of the service. Default `page`. */
  readonly purpose?: 'page' | 'probe';
  /** Whether a stored answer must not be used. Default false; the client itself stores none. */
  readonly fresh?: boolean;
}

/** A page by columns, and in the form in which it is stored. */
export interface ListAnswer {
  readonly batch: RecordBatch;
  /** The bytes received; in a list without page numbers, preceded by the position of the next page. */
  readonly body: Uint8Array;
  /** In a list without page numbers, the position of this page, and of the next one; `undefined` at the end. */
  readonly position?: Position;
  readonly next?: Position | undefined;
}

/** The options of a listing. */
export interface ListingOptions {
  readonly collection: Collection;
  readonly decoder: Decoder;
  /** Rows per page, unless a request overrides it. */
  readonly limit: number;
  readonly surroundings: Surroundings;
  /** Sends a request, and decodes the answer. */
  readonly read: <T>(asked: Asked, decode: (label: string, answer: ScannedAnswer) => T) => Observable<T>;
}

/** Requests the list of one collection, and interprets its answers. */
export class Listing {
  constructor(private readonly options: ListingOptions) {}

  /** Requests one page at a path of the collection. */
  request(path: string, asked: ListRequest): Observable<ListAnswer> {
    const { collection, read } = this.options;
    const { served } = collection;
    const { page, purpose } = asked;
    if (isSequential(served)) return this.#sequel(path, asked, served);
    return read({ collection, path, page, query: this.#queryOf(asked), purpose }, (at, answer) => ({
      batch: this.#batchOf(at, answer, purpose !== 'probe'),
      body: answer.body,
    }));
  }

  /** Decodes a stored answer. */
  decode(body: Uint8Array, counted = true): ListAnswer {
    const { name, served } = this.options.collection;
    if (!isSequential(served)) return { batch: this.#batchOf(name, { status: 200, body }, counted), body };
    const { position, next, answer } = opened(body);
    return { batch: this.#batchOf(name, { status: 200, body: answer }, counted), body, position, next };
  }

  #queryOf({ page, limit = this.options.limit }: ListRequest): Readonly<Record<string, string>> {
    return listQuery(this.options.collection, { page, limit }, this.options.limit);
  }

  #sequel(path: string, { page = 1, position: asked, limit: size, purpose }: ListRequest, served: Served): Observable<ListAnswer> {
    const { collection, limit, surroundings, read } = this.options;
    const rows = size ?? limit;
    const position = asked ?? positionAt(served, path, rows);
    const { parameters } = position;
    return read({ collection, path: position.path, page, parameters, purpose }, (label, answer) => {
      const batch = this.#batchOf(label, answer, purpose !== 'probe');
      const next = nextAfter(answer, batch, { served, label, position, limit: rows, surroundings });
      return { batch, position, next, answer };
    }).pipe(map(({ answer, ...known }) => ({ ...known, body: packed(known, answer.body) })));
  }

  /** Reads answers of the usual form by columns; others, and those that must be refused, record by record. */
  #batchOf(label: string, answer: ScannedAnswer, counted?: boolean): RecordBatch {
    const { collection, decoder, surroundings } = this.options;
    const { served } = collection;
    const isNone = answer.status === 404 && (served?.ends.includes('not_found') ?? false);
    if (answer.status === 404 && !isNone) throw notFound(label, noSuchList(collection, surroundings.baseUrl));
    if (!served) return batchOf(decoder, label, answer, counted);
    const body = isNone ? undefined : listIn(label, answer, served);
    if (body === undefined) return RecordBatch.empty;
    const { status } = answer;
    if (served.nested.size === 0) return batchOf(decoder, label, body === answer.body ? answer : { status, body }, counted);
    return batchFromRows(decoder.decode(flattened(readList(label, { status, body }), served), counted));
  }
}

function batchOf(decoder: Decoder, label: string, answer: ScannedAnswer, counted?: boolean): RecordBatch {
  const scanned = answer.scanned === undefined ? scan(answer.body) : answer.scanned;
  return (scanned ? decoder.decodeColumns(scanned, counted) : undefined) ?? batchFromRows(decoder.decode(readList(label, answer), counted));
}

/** Creates the failure for something that does not exist. */
export function notFound(label: string, what: string): SourceError {
  return new SourceError('E_SOURCE_REFUSED', 'permanent', `${label}: HTTP 404: ${what}`, { status: 404 });
}
