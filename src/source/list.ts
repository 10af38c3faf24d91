import { catchError, defer, filter, map, of, Subject, take, tap, throwError, type Observable } from 'rxjs';
import { RecordBatch } from '../vector/index.js';
import { amount, amountOf } from '../core/index.js';
import type { ListRequest } from './fetch/reader.js';
import { isNotFound } from './fetch/request.js';
import { isPlainFailure, isViolation, noRows, refused, warn, type ListReader, type PagingOptions } from './paging.js';
import { fingerprintOf, namesOf } from './seen-rows.js';
import { inOrder, task, type Ask } from '../flow/index.js';

/**
 * Determines how a service pages a list: a cap below the requested limit, pages where the document describes none, and a page before the
 * first one. It reads page 1, and page 2 if page 1 is short; neither is requested again. A list without pages is one batch, unless a second
 * page has other rows.
 */
export function openList(reader: ListReader, options: PagingOptions): Observable<Pages | RecordBatch> {
  return task(async (ask) => {
    if (!reader.collection.paged) {
      const { batch: all } = await ask(reader.request({}));
      // The owner declares that the list has no pages, and the service may not accept parameters.
      if (all.length === 0 || reader.collection.served || !(await hasMorePages(ask, reader, all))) return all;
      warn(reader, options, 'W_SOURCE_PAGED', 'the service returns this list in pages');
      reader.findings.recount();
    }
    return ask(openPaged(reader, reader.limit, options));
  });
}

/** @param learned Whether the limit is the number of rows that the service returned for a larger one. */
export function openPaged(reader: ListReader, limit: number, options: PagingOptions, learned = false): Observable<Pages> {
  return task(async (ask) => {
    const list = new Pages(reader, limit, options);
    const { firstPage } = list;
    const first = await ask(list.seed(firstPage));
    if (options.firstPage === undefined && !learned) await refusePageBefore(ask, list, first, options);
    if (first.length === 0 || first.length === limit) return list;
    const second = await ask(list.seed(firstPage + 1));
    const requested = `requested ${amountOf(limit, 'row')} per page, but the service returns ${amount(first.length)}`;
    if (first.length > limit) {
      if (!(await repeatsBeyondLimit(ask, list, first, second))) return list;
      const what = `${requested}, and the next page begins with row ${limit + 1} of them`;
      throw refused(reader, 'E_SOURCE_ORDER', `${what}; set service.limit if the service has a page size of its own`);
    }
    const isFollowed = second.length > 0 && fingerprintOf(first) !== fingerprintOf(second);
    if (learned && isFollowed) {
      throw refused(reader, 'E_SOURCE_ORDER', `${requested} and has more after them; rows between the pages would be missed`);
    }
    if (learned || (!isFollowed && !(await hasNextPage(ask, list, first)))) return list;
    // A longer second page contradicts a cap: the first page lacks rows, perhaps only once.
    if (isFollowed && second.length > first.length) return ask(list.seed(firstPage, true).pipe(map(() => list)));
    warn(reader, options, 'W_SOURCE_CAP', requested);
    // A cap may move all page borders: different pages with the same rows are read from here.
    reader.findings.recount();
    return ask(openPaged(reader, first.length, options, true));
  });
}

/** Refuses a page before the first one with rows that the first one lacks even when read again: they would be lost. */
async function refusePageBefore(ask: Ask, list: Pages, first: RecordBatch, options: PagingOptions): Promise<void> {
  const { reader, firstPage } = list;
  const before = firstPage - 1;
  const found = await ask(list.probe(before)).catch((error: unknown) => {
    // Any failure can mean that there is no such page, but an outage is not an answer.
    if (!isPlainFailure(error)) throw error;
    const what = `page ${before} could not be requested, so whether the list begins there is unknown; set service.first_page`;
    if (!isViolation(error)) warn(reader, options, 'W_SOURCE_UNCHECKED', what);
    return RecordBatch.empty;
  });
  // By its key: other fields may differ each time.
  const [row] = namesIn(reader, found);
  if (row === undefined || namesIn(reader, first).includes(row)) return;
  if (namesIn(reader, await ask(list.probe(firstPage))).includes(row)) return;
  throw refused(reader, 'E_SOURCE_FIRST_PAGE', `page ${before} has rows that page ${firstPage} does not have`);
}

/** Returns whether the second page has the first one's rows beyond the limit, and none were added before it meanwhile. */
async function repeatsBeyondLimit(ask: Ask, list: Pages, first: RecordBatch, second: RecordBatch): Promise<boolean> {
  const beyond = first.filter((row) => row >= list.limit);
  if (fingerprintOf(beyond) !== fingerprintOf(second.filter((row) => row < beyond.length))) return false;
  return fingerprintOf(await ask(list.probe(list.firstPage))) === fingerprintOf(first);
}

/** Returns whether other rows follow a short first page: page 2 began at the offset of the full limit, this one where page 1 ends. */
async function hasNextPage(ask: Ask, list: Pages, first: RecordBatch): Promise<boolean> {
  const next = await ask(list.probe(list.firstPage + 1, first.length).pipe(catchError(noRows)));
  const known = new Set(namesIn(list.reader, first));
  return namesIn(list.reader, next).some((row) => !known.has(row));
}

function namesIn({ collection }: ListReader, batch: RecordBatch): readonly string[] {
  return namesOf(batch, collection.key);
}

/**
 * Returns whether a list that was returned without a page number has more rows: pages 1 and 2, of the service's page size, then have other
 * rows. A second page without rows is requested once more, with a limit that divides the number of rows received, since that may work.
 */
async function hasMorePages(ask: Ask, reader: ListReader, all: RecordBatch): Promise<boolean> {
  const known = new Set(namesIn(reader, all));
  const isOther = (rows: readonly string[]) => {
    // Part of the list is a page of it.
    if (rows.length > 0 && rows.length * 2 <= known.size) return true;
    // If an unpaged list has grown meanwhile, some rows can be new, but not most.
    return rows.filter((row) => !known.has(row)).length * 2 > rows.length;
  };
  const page = (number: number, limit: number | null = null) =>
    reader.request({ page: number, limit, purpose: 'probe' }).pipe(
      map(({ batch }) => namesIn(reader, batch)),
      // A service without pages may refuse them; one that does not answer may have pages.
      catchError((error: unknown) => (isViolation(error) ? of([]) : throwError(() => error))),
    );
  const second = await ask(page(2));
  let size = Math.min(all.length, 500);
  while (all.length % size !== 0) size -= 1;
  if (isOther(second.length > 0 ? second : await ask(page(all.length / size + 1, size)))) return true;
  return isOther(await ask(page(1)));
}

/** The pages of a list by number. Each waits for the fingerprint of the one before it, unless that may never be requested. */
export class Pages {
  readonly firstPage: number;
  /** The first page of the range that is read, and the first one after it. */
  readonly start: number;
  readonly stop: number;
  readonly #maxPages: number;
  /** Pages already read; each is used once. */
  readonly #seeds = new Map<number, RecordBatch>();
  readonly #requested = new Set<number>();
  readonly #repeats = new Set<number>();
  readonly #fingerprints = new Map<number, string>();
  /** Emits when a fingerprint or the seeming end becomes known. */
  readonly #news = new Subject<void>();
  /** The first page that seems to be the end: nothing may wait for the fingerprints of later ones, which may never be requested. */
  #seemingEnd = Infinity;

  constructor(
    readonly reader: ListReader,
    readonly limit: number,
    { firstPage = 1, maxPages = Infinity, range: { from, to = Infinity } = { from: 0 } }: PagingOptions,
  ) {
    this.firstPage = firstPage;
    this.start = firstPage + Math.floor(from / limit);
    this.stop = firstPage + Math.ceil(to / limit);
    this.#maxPages = maxPages;
  }

  /** Reads a page, or some from it on. One that repeats the page before it, as some services do past the end, counts as empty. */
  page(first: number, fresh = false, count = 1): Observable<RecordBatch> {
    if (first >= this.stop) return of(RecordBatch.empty);
    const left = Math.min(this.firstPage + this.#maxPages, this.stop) - first;
    return this.#read(first, fresh, Math.max(1, Math.min(count, left))).pipe(
      inOrder((batch, index) => {
        const number = first + index;
        if (batch.length === 0) return of(this.#noRowsOn(number));
        if (number - this.firstPage >= this.#maxPages)
          throw refused(this.reader, 'E_SOURCE_MAX_PAGES', `page ${number} has rows, but max_pages is ${this.#maxPages}`);
        if (number === this.#seemingEnd) this.#seemingEnd = Infinity;
        if (number === this.firstPage) return of(batch);
        // The page before a range is not read.
        const before$ = number === this.start ? this.probe(number - 1).pipe(map(fingerprintOf)) : this.#fingerprintBefore(number);
        return before$.pipe(
          map((before) => {
            if (before !== fingerprintOf(batch)) {
              this.#repeats.delete(number);
              return batch;
            }
            this.#repeats.add(number);
            return this.#noRowsOn(number);
          }),
        );
      }),
    );
  }

  get repeated(): number | undefined {
    return this.#repeats.size === 0 ? undefined : Math.min(...this.#repeats);
  }

  /** Requests a page that `page` will return. */
  seed(page: number, fresh = false): Observable<RecordBatch> {
    return this.#request({ page, limit: this.limit, fresh }).pipe(tap((batch) => this.#seeds.set(page, batch)));
  }

  /** Requests the current state of a page, even if it was spooled, without comparing it with the page before it. */
  again(page: number): Observable<RecordBatch> {
    // The next page is compared with the current state of this one.
    return this.#request({ page, limit: this.limit, fresh: true }).pipe(tap((batch) => this.#fingerprints.set(page, fingerprintOf(batch))));
  }

  /** Requests the current state of a page, also of another size, for comparison; it is not spooled. */
  probe(page: number, limit = this.limit): Observable<RecordBatch> {
    return this.#request({ page, limit, purpose: 'probe' });
  }

  /** A page after the first that the service does not know has no rows. */
  #request(request: ListRequest & { readonly page: number }): Observable<RecordBatch> {
    return this.reader.request(request).pipe(
      map(({ batch }) => batch),
      catchError((error: unknown) => {
        return request.page > this.firstPage && isNotFound(error) ? of(RecordBatch.empty) : throwError(() => error);
      }),
    );
  }

  #read(first: number, fresh: boolean, count: number): Observable<RecordBatch> {
    return defer(() => {
      let page = first;
      const note = (fingerprint: string) => {
        this.#fingerprints.set(page, fingerprint);
        page += 1;
        this.#news.next();
      };
      const seed = this.#seeds.get(first);
      this.#seeds.delete(first);
      this.#requested.add(first);
      const batches$ = seed && !fresh ? of(seed) : this.#request({ page: first, limit: this.limit, fresh, count });
      return batches$.pipe(tap({ next: (batch) => note(fingerprintOf(batch)), error: () => note('') }));
    });
  }

  /** Emits the fingerprint of the page before; empty if it failed. One that may never be requested looks like the last. */
  #fingerprintBefore(number: number): Observable<string> {
    const page = number - 1;
    const known = () => {
      const isNeverRequested = page > this.#seemingEnd && !this.#requested.has(page);
      return this.#fingerprints.get(page) ?? (isNeverRequested ? (this.#fingerprints.get(this.#seemingEnd - 1) ?? '') : undefined);
    };
    const now = known();
    if (now !== undefined) return of(now);
    return this.#news.pipe(
      map(known),
      filter((fingerprint) => fingerprint !== undefined),
      take(1),
    );
  }

  /** Returns a page without rows of its own; later ones need not be requested. */
  #noRowsOn(page: number): RecordBatch {
    this.#seemingEnd = Math.min(this.#seemingEnd, page);
    this.#news.next();
    return RecordBatch.empty;
  }
}
