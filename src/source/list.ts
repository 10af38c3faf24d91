import { catchError, map, of, switchMap, tap, throwError, type Observable, AsyncSubject, defer } from 'rxjs';
import { RecordBatch } from '../vector/index.js';
import { amount, amountOf } from '../core/index.js';
import type { ListRequest } from './fetch/reader.js';
import { isNotFound } from './fetch/request.js';
import { isPlainFailure, noRows, isViolation, refused, warn, type PagingOptions, type ListReader } from './paging.js';
import { fingerprintOf, namesOf } from './seen-rows.js';
import { task } from '../flow/index.js';

/**
 * Determines how a service pages a list: a cap below the limit requested, pages where the document describes none, and a page before the
 * first one. It reads page 1, and page 2 if page 1 is short; neither is requested again. A list without pages is one batch, which holds
 * unless a second page has other rows.
 */
export function openList(reader: ListReader, options: PagingOptions): Observable<Pages | RecordBatch> {
  if (reader.collection.paged) return openPaged(reader, reader.limit, options);
  return reader.request({}).pipe(
    switchMap(({ batch: all }) => {
      // The owner declares that the list has no pages, and it may not accept parameters.
      if (all.length === 0 || reader.collection.served) return of(all);
      return hasMorePages(reader, all).pipe(
        switchMap((paged) => {
          if (!paged) return of(all);
          warn(reader, options, 'W_SOURCE_PAGED', 'the service returns this list in pages');
          reader.findings.recount();
          return openPaged(reader, reader.limit, options);
        }),
      );
    }),
  );
}

export function openPaged(reader: ListReader, limit: number, options: PagingOptions, learned = false): Observable<Pages> {
  const firstPage = options.firstPage ?? 1;
  const request: Requesting = (asked) =>
    reader.request(asked).pipe(
      map(({ batch }) => batch),
      catchError((error: unknown) => {
        const isBehind = asked.page !== undefined && asked.page > firstPage && isNotFound(error);
        return isBehind ? of(RecordBatch.empty) : throwError(() => error);
      }),
    );
  const seeds = new Map<number, RecordBatch>();
  const read = (page: number, fresh = false) => request({ page, limit, fresh }).pipe(tap((batch) => seeds.set(page, batch)));
  const list = () => new Pages(reader, request, firstPage, limit, seeds, options.maxPages ?? Infinity);

  return read(firstPage).pipe(
    switchMap((first) => {
      const opened$ =
        first.length === 0 || first.length === limit
          ? of(list())
          : read(firstPage + 1).pipe(
              switchMap((second) => (first.length < limit ? afterShortPage(first, second) : afterLongPage(first, second))),
            );
      return options.firstPage === undefined && !learned ? refusePageBefore(first).pipe(switchMap(() => opened$)) : opened$;
    }),
  );

  /** Refuses a page before the first one with rows that are not on the first one either when it is read again: they would be lost. */
  function refusePageBefore(first: RecordBatch): Observable<unknown> {
    const before = firstPage - 1;
    const namesOn = (page: number) => request({ page, limit, purpose: 'probe' }).pipe(map((batch) => namesIn(reader, batch)));
    return namesOn(before).pipe(
      // Any failure of a missing page can mean that there is no page, but an outage is no answer.
      catchError((error: unknown) => {
        if (!isPlainFailure(error)) return throwError(() => error);
        if (!isViolation(error)) {
          const what = `page ${before} could not be requested, so whether the list begins there is unknown; set service.first_page`;
          warn(reader, options, 'W_SOURCE_UNCHECKED', what);
        }
        return of([]);
      }),
      switchMap(([row]) => {
        // By its key: other fields may differ each time.
        if (row === undefined || namesIn(reader, first).includes(row)) return of(true);
        return namesOn(firstPage).pipe(map((now) => now.includes(row)));
      }),
      tap((same) => {
        if (!same) throw refused(reader, 'E_SOURCE_FIRST_PAGE', `page ${before} has rows that page ${firstPage} does not have`);
      }),
    );
  }

  /** Handles a short first page: if others follow that are no longer, there is a cap, and a cap may move the borders of all pages. */
  function afterShortPage(first: RecordBatch, second: RecordBatch): Observable<Pages> {
    const isMore = second.length > 0 && fingerprintOf(first) !== fingerprintOf(second);
    if (isMore && learned) {
      const what = `${requested(first)} and has more after them; rows between the pages would be missed`;
      throw refused(reader, 'E_SOURCE_ORDER', what);
    }
    // A longer second page contradicts a cap: the first page lacks rows, perhaps only once.
    if (isMore) return second.length > first.length ? read(firstPage, true).pipe(map(list)) : capped(first);
    if (learned) return of(list());
    // The next page already read began at the offset of the full limit; with the length of this one it begins where this one ends.
    const known = new Set(namesIn(reader, first));
    return request({ page: firstPage + 1, limit: first.length, purpose: 'probe' }).pipe(
      catchError(noRows),
      switchMap((batch) => (namesIn(reader, batch).some((row) => !known.has(row)) ? capped(first) : of(list()))),
    );
  }

  /** Refuses pages that are longer than the distance between them, unless rows were added before the second one meanwhile. */
  function afterLongPage(first: RecordBatch, second: RecordBatch): Observable<Pages> {
    const beyond = first.filter((row) => row >= limit);
    if (fingerprintOf(beyond) !== fingerprintOf(second.filter((row) => row < beyond.length))) return of(list());
    return request({ page: firstPage, limit, purpose: 'probe' }).pipe(
      map((again) => {
        if (fingerprintOf(again) !== fingerprintOf(first)) return list();
        const what = `${requested(first)}, and the next page begins with row ${limit + 1} of them`;
        throw refused(reader, 'E_SOURCE_ORDER', `${what}; set service.limit if the service has a page size of its own`);
      }),
    );
  }

  function requested(first: RecordBatch): string {
    return `requested ${amountOf(limit, 'row')} per page, but the service returns ${amount(first.length)}`;
  }

  function capped(first: RecordBatch): Observable<Pages> {
    warn(reader, options, 'W_SOURCE_CAP', requested(first));
    // Different pages are read now, with the same rows.
    reader.findings.recount();
    return openPaged(reader, first.length, options, true);
  }
}

type Requesting = (asked: ListRequest) => Observable<RecordBatch>;

function namesIn({ collection }: ListReader, batch: RecordBatch): readonly string[] {
  return namesOf(batch, collection.key);
}

/**
 * Returns whether a list that was returned without a page number has more rows: then pages 1 and 2, with the service's page size, have other
 * rows. A second page without rows is requested once more, with a limit that divides the number of rows received, since that may work.
 */
function hasMorePages(reader: ListReader, all: RecordBatch): Observable<boolean> {
  const known = new Set(namesIn(reader, all));
  const isOther = (rows: readonly string[]) => {
    // A part of the list is a page of it.
    if (rows.length > 0 && rows.length * 2 <= known.size) return true;
    // If an unpaged list has grown meanwhile, some rows can be new, but not most.
    return rows.filter((row) => !known.has(row)).length * 2 > rows.length;
  };
  const page = (number: number, limit: number | null = null) =>
    reader.request({ page: number, limit, purpose: 'probe' }).pipe(
      map(({ batch }) => namesIn(reader, batch)),
      // A service without pages may refuse them; one that does not answer cannot be distinguished from one with pages.
      catchError((error: unknown) => (isViolation(error) ? of([]) : throwError(() => error))),
    );
  return task(async (ask) => {
    const second = await ask(page(2));
    let size = Math.min(all.length, 500);
    while (all.length % size !== 0) size -= 1;
    if (isOther(second.length > 0 ? second : await ask(page(all.length / size + 1, size)))) return true;
    return isOther(await ask(page(1)));
  });
}

/** The pages of a list by number. Each waits for the fingerprint of the one before it, unless that may never be requested. */
export class Pages {
  readonly #repeats = new Set<number>();
  readonly #fingerprints = new Map<number, string>();
  /** The pages waiting for the fingerprint of one. */
  readonly #waiting = new Map<number, AsyncSubject<string>>();
  readonly #asked = new Set<number>();
  /** Pages after the first one that seems to be the end may never be requested, so nothing may wait for their fingerprints. */
  #seemingEnd = Infinity;

  /** @param seeds Pages already read; each is used once. */
  constructor(
    private readonly reader: ListReader,
    private readonly request: Requesting,
    readonly firstPage: number,
    readonly limit: number,
    private readonly seeds: Map<number, RecordBatch>,
    private readonly maxPages: number,
  ) {}

  /** Reads one page. One that repeats the page before it, as some services do past the end, counts as empty. */
  page(number: number, fresh = false): Observable<RecordBatch> {
    return this.#read(number, fresh).pipe(
      switchMap((batch) => {
        if (batch.length === 0) return of(this.#noRowsOn(number));
        if (number - this.firstPage >= this.maxPages)
          throw refused(this.reader, 'E_SOURCE_MAX_PAGES', `page ${number} has rows, but max_pages is ${this.maxPages}`);
        if (number === this.#seemingEnd) this.#seemingEnd = Infinity;
        if (number === this.firstPage) return of(batch);
        return this.#fingerprint(number - 1).pipe(
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

  /** Requests the current state of a page, even if it was spooled, without comparing it with the page before it. */
  again(page: number): Observable<RecordBatch> {
    // The next page is compared with the current state of this one.
    return this.request({ page, limit: this.limit, fresh: true }).pipe(tap((batch) => this.#fingerprints.set(page, fingerprintOf(batch))));
  }

  /** Requests the current state of a page, perhaps of another size, for comparison; it is not spooled. */
  probe(page: number, limit = this.limit): Observable<RecordBatch> {
    return this.request({ page, limit, purpose: 'probe' });
  }

  #read(page: number, fresh: boolean): Observable<RecordBatch> {
    const take = (fingerprint: string) => {
      this.#fingerprints.set(page, fingerprint);
      this.#announce(page, fingerprint);
    };
    return defer(() => {
      const seed = this.seeds.get(page);
      this.seeds.delete(page);
      this.#asked.add(page);
      return seed && !fresh ? of(seed) : this.request({ page, limit: this.limit, fresh });
    }).pipe(tap({ next: (batch) => take(fingerprintOf(batch)), error: () => take('') }));
  }

  /** Emits the fingerprint of a page, once known; empty if the page failed. A page that may never be requested looks like the last page. */
  #fingerprint(page: number): Observable<string> {
    const known = this.#fingerprints.get(page) ?? (page > this.#seemingEnd && !this.#asked.has(page) ? this.#lastLook : undefined);
    if (known !== undefined) return of(known);
    const subject = this.#waiting.get(page) ?? new AsyncSubject<string>();
    this.#waiting.set(page, subject);
    return subject;
  }

  /** The fingerprint after the seeming end, if the service repeats its last page there. */
  get #lastLook(): string {
    return this.#fingerprints.get(this.#seemingEnd - 1) ?? '';
  }

  #announce(page: number, fingerprint: string): void {
    this.#waiting.get(page)?.next(fingerprint);
    this.#waiting.get(page)?.complete();
    this.#waiting.delete(page);
  }

  /** Returns a page without rows of its own; later ones need not be requested. */
  #noRowsOn(page: number): RecordBatch {
    this.#seemingEnd = Math.min(this.#seemingEnd, page);
    for (const awaited of this.#waiting.keys())
      if (awaited > this.#seemingEnd && !this.#asked.has(awaited)) this.#announce(awaited, this.#lastLook);
    return RecordBatch.empty;
  }
}
