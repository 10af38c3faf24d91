import { catchError, map, of, switchMap, tap, throwError, type Observable, AsyncSubject, defer } from 'rxjs';
import { RecordBatch } from '../vector/index.js';
import { amount, amountOf } from '../core/index.js';
import type { ListRequest } from './fetch/reader.js';
import { isNotFound } from './fetch/request.js';
import { isPlainFailure, noRows, isViolation, refused, warn, type PagingOptions, type ListReader } from './paging.js';
import { fingerprintOf, namesOf } from './seen-rows.js';
import { task, type Ask } from '../flow/index.js';

/**
 * Determines how a service pages a list: a cap below the limit requested, pages where the document describes none, and a page before the
 * first one. It reads page 1, and page 2 if page 1 is short; neither is requested again. A list without pages is one batch, which holds
 * unless a second page has other rows.
 */
export function openList(reader: ListReader, options: PagingOptions): Observable<Pages | RecordBatch> {
  return task(async (ask) => {
    if (!reader.collection.paged) {
      const { batch: all } = await ask(reader.request({}));
      // The owner declares that the list has no pages, and it may not accept parameters.
      if (all.length === 0 || reader.collection.served || !(await hasMorePages(ask, reader, all))) return all;
      warn(reader, options, 'W_SOURCE_PAGED', 'the service returns this list in pages');
      reader.findings.recount();
    }
    return ask(openPaged(reader, reader.limit, options));
  });
}

/** @param learned Whether the limit is the number of rows that the service returned for a larger one. */
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
  return task(async (ask) => {
    const seeds = new Map<number, RecordBatch>();
    const read = (page: number, fresh = false) => ask(request({ page, limit, fresh }).pipe(tap((batch) => seeds.set(page, batch))));
    const probe = (page: number, size = limit) => request({ page, limit: size, purpose: 'probe' });
    const list = new Pages(reader, request, firstPage, limit, seeds, options.maxPages ?? Infinity);

    const first = await read(firstPage);
    if (options.firstPage === undefined && !learned) await refusePageBefore(firstPage, first, (page) => ask(probe(page)), reader, options);
    if (first.length === 0 || first.length === limit) return list;
    const second = await read(firstPage + 1);
    const requested = `requested ${amountOf(limit, 'row')} per page, but the service returns ${amount(first.length)}`;

    if (first.length > limit) {
      const beyond = first.filter((row) => row >= limit);
      if (fingerprintOf(beyond) !== fingerprintOf(second.filter((row) => row < beyond.length))) return list;
      // Rows may have been added before the second page meanwhile.
      if (fingerprintOf(await ask(probe(firstPage))) !== fingerprintOf(first)) return list;
      const what = `${requested}, and the next page begins with row ${limit + 1} of them`;
      throw refused(reader, 'E_SOURCE_ORDER', `${what}; set service.limit if the service has a page size of its own`);
    }

    if (second.length > 0 && fingerprintOf(first) !== fingerprintOf(second)) {
      const lost = 'rows between the pages would be missed';
      if (learned) throw refused(reader, 'E_SOURCE_ORDER', `${requested} and has more after them; ${lost}`);
      // A longer second page contradicts a cap: the first page lacks rows, perhaps only once.
      if (second.length > first.length) return read(firstPage, true).then(() => list);
    } else {
      if (learned) return list;
      // The next page already read began at the offset of the full limit; with the length of this one it begins where this one ends.
      const next = await ask(probe(firstPage + 1, first.length).pipe(catchError(noRows)));
      const known = new Set(namesIn(reader, first));
      if (namesIn(reader, next).every((row) => known.has(row))) return list;
    }
    warn(reader, options, 'W_SOURCE_CAP', requested);
    // A cap may move the borders of all pages: different pages are read now, with the same rows.
    reader.findings.recount();
    return ask(openPaged(reader, first.length, options, true));
  });
}

/** Refuses a page before the first one with rows that are not on the first one either when it is read again: they would be lost. */
async function refusePageBefore(
  firstPage: number,
  first: RecordBatch,
  probe: (page: number) => Promise<RecordBatch>,
  reader: ListReader,
  options: PagingOptions,
): Promise<void> {
  const before = firstPage - 1;
  const found = await probe(before).catch((error: unknown) => {
    // Any failure of a missing page can mean that there is no page, but an outage is no answer.
    if (!isPlainFailure(error)) throw error;
    const what = `page ${before} could not be requested, so whether the list begins there is unknown; set service.first_page`;
    if (!isViolation(error)) warn(reader, options, 'W_SOURCE_UNCHECKED', what);
    return RecordBatch.empty;
  });
  // By its key: other fields may differ each time.
  const [row] = namesIn(reader, found);
  if (row === undefined || namesIn(reader, first).includes(row) || namesIn(reader, await probe(firstPage)).includes(row)) return;
  throw refused(reader, 'E_SOURCE_FIRST_PAGE', `page ${before} has rows that page ${firstPage} does not have`);
}

type Requesting = (asked: ListRequest) => Observable<RecordBatch>;

function namesIn({ collection }: ListReader, batch: RecordBatch): readonly string[] {
  return namesOf(batch, collection.key);
}

/**
 * Returns whether a list that was returned without a page number has more rows: then pages 1 and 2, with the service's page size, have other
 * rows. A second page without rows is requested once more, with a limit that divides the number of rows received, since that may work.
 */
async function hasMorePages(ask: Ask, reader: ListReader, all: RecordBatch): Promise<boolean> {
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
  const second = await ask(page(2));
  let size = Math.min(all.length, 500);
  while (all.length % size !== 0) size -= 1;
  if (isOther(second.length > 0 ? second : await ask(page(all.length / size + 1, size)))) return true;
  return isOther(await ask(page(1)));
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
