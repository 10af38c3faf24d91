import { catchError, map, of, switchMap, tap, throwError, type Observable, AsyncSubject, defer } from 'rxjs';
import { RecordBatch } from '../vector/index.js';
import { amount, amountOf, SourceError } from '../core/index.js';
import type { ListAnswer } from './fetch/reader.js';
import { isPlainFailure, noRows, isViolation, warn, type PagingOptions, type ListReader } from './paging.js';
import { fingerprintOf, namesOf } from './seen-rows.js';
import { task } from '../flow/index.js';

/**
 * Determines how a service pages a list: a cap below the limit requested, pages where the document describes none, and a page before the
 * first one. It reads page 1, and page 2 if page 1 is short; neither is requested again.
 *
 * @throws {SourceError} `E_SOURCE_FIRST_PAGE`, and, from the pages, `E_SOURCE_PAGE_IGNORED` and `E_SOURCE_MAX_PAGES`.
 * @throws {GateError} `E_GATE_STRICT` for a warning under `strict`.
 */
export function openList(reader: ListReader, options: PagingOptions = {}): Observable<Pages | ListAnswer> {
  return reader.collection.paged ? openPaged(reader, reader.limit, options) : openUnpaged(reader, options);
}

export function openPaged(from: ListReader, limit: number, options: PagingOptions, learned = false): Observable<Pages> {
  const firstPage = options.firstPage ?? 1;
  const reader = withoutNotFound(from, firstPage);
  const seeds = new Map<number, ListAnswer>();
  const read = (page: number) => reader.request({ page, limit }).pipe(tap((answer) => seeds.set(page, answer)));
  const list = () => new Pages(reader, firstPage, limit, seeds, options.maxPages ?? Infinity);

  return read(firstPage).pipe(
    switchMap(({ batch }) => {
      const opened$ =
        batch.length === 0 || batch.length >= limit
          ? of(list())
          : read(firstPage + 1).pipe(switchMap((second) => afterShortPage(batch, second.batch)));
      return options.firstPage === undefined && !learned
        ? refusePageBefore(reader, firstPage, limit, batch, options).pipe(switchMap(() => opened$))
        : opened$;
    }),
  );

  /** Handles a short first page: if others follow, there is a cap, and a cap may move the borders of all pages. */
  function afterShortPage(first: RecordBatch, second: RecordBatch): Observable<Pages> {
    const isMore = second.length > 0 && fingerprintOf(first) !== fingerprintOf(second);
    if (isMore && learned) throw lackingRows(reader, limit, first.length);
    if (isMore) return capped(first);
    if (learned || first.length === 0) return of(list());
    return behindCap(reader, firstPage, first).pipe(switchMap((more) => (more ? capped(first) : of(list()))));
  }

  function capped(first: RecordBatch): Observable<Pages> {
    warn(options, {
      code: 'W_SOURCE_CAP',
      message: `${reader.collection.name}: requested ${amountOf(limit, 'row')} per page, but the service returns ${amount(first.length)}`,
    });
    // Different pages are read now, with the same rows.
    reader.recount();
    return openPaged(reader, first.length, options, true);
  }
}

/**
 * Checks whether a short first page has more rows after it, by requesting the next page with its length as the limit: the next page already
 * read began at the offset of the full limit.
 */
function behindCap(reader: ListReader, firstPage: number, first: RecordBatch): Observable<boolean> {
  const known = new Set(namesIn(reader, first));
  return reader.request({ page: firstPage + 1, limit: first.length, purpose: 'probe' }).pipe(
    catchError(noRows),
    map(({ batch }) => namesIn(reader, batch).some((name) => !known.has(name))),
  );
}

function lackingRows(reader: ListReader, limit: number, rows: number): SourceError {
  const message = `${reader.collection.name}: requested ${amountOf(limit, 'row')} per page, but the service returns ${amount(rows)} and has more after them; rows between the pages would be missed`;
  return new SourceError('E_SOURCE_ORDER', 'permanent', message);
}

function namesIn({ collection }: ListReader, batch: RecordBatch): readonly string[] {
  return namesOf(batch, collection.key);
}

/** Opens an unpaged list, which is one answer unless a second page has other rows. */
function openUnpaged(reader: ListReader, options: PagingOptions): Observable<Pages | ListAnswer> {
  return reader.request({}).pipe(
    switchMap((all) => {
      // The owner declares that the list has no pages, and it may not accept parameters.
      if (all.batch.length === 0 || reader.collection.served) return of(all);
      return hasMorePages(reader, all.batch).pipe(
        switchMap((paged) => {
          if (!paged) return of(all);
          warn(options, { code: 'W_SOURCE_PAGED', message: `${reader.collection.name}: the service returns this list in pages` });
          reader.recount();
          return openPaged(reader, reader.limit, options);
        }),
      );
    }),
  );
}

/**
 * Refuses a list whose page before the first one has rows that the first one lacks: they would be silently lost. A row just added at the
 * head of the list is on both once the first page is read again.
 */
function refusePageBefore(
  reader: ListReader,
  firstPage: number,
  limit: number,
  first: RecordBatch,
  options: PagingOptions,
): Observable<unknown> {
  const before = firstPage - 1;
  const pageOf = (page: number) => reader.request({ page, limit, purpose: 'probe' }).pipe(map(({ batch }) => batch));
  return pageOf(before).pipe(
    // Any failure of a missing page can mean that there is no page, but an outage is no answer.
    catchError((error: unknown) => {
      if (!isPlainFailure(error)) return throwError(() => error);
      if (!isViolation(error)) {
        const message = `${reader.collection.name}: page ${before} could not be requested, so whether the list begins there is unknown; set service.first_page`;
        warn(options, { code: 'W_SOURCE_UNCHECKED', message });
      }
      return of(RecordBatch.empty);
    }),
    switchMap((batch) => {
      // By its key: other fields may differ each time.
      const [name] = namesIn(reader, batch);
      if (name === undefined || namesIn(reader, first).includes(name)) return of(true);
      return pageOf(firstPage).pipe(map((now) => namesIn(reader, now).includes(name)));
    }),
    tap((same) => {
      if (same) return;
      const message = `${reader.collection.name}: page ${before} has rows that page ${firstPage} does not have`;
      throw new SourceError('E_SOURCE_FIRST_PAGE', 'permanent', message);
    }),
  );
}

/** Wraps a reader so that a page not found after the first one counts as a page without rows. */
function withoutNotFound(reader: ListReader, firstPage: number): ListReader {
  const isNotFound = (error: unknown) => error instanceof SourceError && error.status === 404;
  return {
    ...reader,
    request: (asked) =>
      reader.request(asked).pipe(
        catchError((error: unknown) => {
          const isBehind = asked.page !== undefined && asked.page > firstPage && isNotFound(error);
          return isBehind ? of({ batch: RecordBatch.empty, body: new Uint8Array() }) : throwError(() => error);
        }),
      ),
  };
}

/**
 * Returns whether a list that was returned without a page number has more rows: then pages 1 and 2, with the service's page size, have other
 * rows. A second page without rows is requested once more, with a limit that divides the number of rows received, since that may work.
 */
function hasMorePages(reader: ListReader, all: RecordBatch): Observable<boolean> {
  const { key } = reader.collection;
  const known = new Set(namesOf(all, key));
  const isOther = (batch: RecordBatch) => {
    const rows = namesOf(batch, key);
    // A part of the list is a page of it.
    if (rows.length > 0 && rows.length * 2 <= known.size) return true;
    // If an unpaged list has grown meanwhile, some rows can be new, but not most.
    return rows.filter((row) => !known.has(row)).length * 2 > rows.length;
  };
  const page = (number: number, limit: number | null = null) =>
    reader.request({ page: number, limit, purpose: 'probe' }).pipe(
      map(({ batch }) => batch),
      // A service without pages may refuse them; one that does not answer cannot be distinguished from one with pages.
      catchError((error: unknown) => (isViolation(error) ? of(RecordBatch.empty) : throwError(() => error))),
    );
  return task(async (ask) => {
    const second = await ask(page(2));
    const size = divisorOf(all.length);
    if (isOther(second.length > 0 ? second : await ask(page(all.length / size + 1, size)))) return true;
    return isOther(await ask(page(1)));
  });
}

/** Returns the largest page size with a border after the given number of rows. */
function divisorOf(rows: number): number {
  let size = Math.min(rows, 500);
  while (rows % size !== 0) size -= 1;
  return size;
}

/**
 * The pages of a list by number. Each is compared with the one before it, in whatever order the answers arrive: a page waits for the
 * fingerprint of its neighbour, unless the neighbour may never be requested.
 */
export class Pages {
  /** Pages that repeat the one before them. */
  readonly #repeats = new Set<number>();
  /** The fingerprint of each page, for the page after it, and the pages waiting for one. */
  readonly #fingerprints = new Map<number, string>();
  readonly #waiting = new Map<number, AsyncSubject<string>>();
  readonly #asked = new Set<number>();
  /** Pages after the first one that seems to be the end may never be requested, so nothing may wait for their fingerprints. */
  #seemingEnd = Infinity;

  /**
   * @param seeds Pages already read; each is used once.
   * @param maxPages Maximum number of pages with rows.
   */
  constructor(
    private readonly reader: ListReader,
    readonly firstPage: number,
    readonly limit: number,
    private readonly seeds: Map<number, ListAnswer>,
    private readonly maxPages: number,
  ) {}

  /**
   * Reads one page. A page that repeats the one before it, as some services do past the end, counts as empty.
   *
   * @param fresh Whether a stored answer must not be used.
   */
  page(number: number, fresh = false): Observable<ListAnswer> {
    return this.#read(number, fresh).pipe(
      switchMap((answer) => {
        if (answer.batch.length === 0) return of(this.#noRowsOn(number));
        if (number - this.firstPage >= this.maxPages) return throwError(() => this.#tooManyPages(number));
        if (number === this.#seemingEnd) this.#seemingEnd = Infinity;
        if (number === this.firstPage) return of(answer);
        return this.#fingerprint(number - 1).pipe(
          map((before) => {
            if (before !== answer.fingerprint) {
              this.#repeats.delete(number);
              return answer;
            }
            this.#repeats.add(number);
            return this.#noRowsOn(number);
          }),
        );
      }),
    );
  }

  /** The first page read that repeated the one before it. */
  get repeated(): number | undefined {
    return this.#repeats.size === 0 ? undefined : Math.min(...this.#repeats);
  }

  /** Requests the current state of a page, even if it was spooled, without comparing it with the page before it. */
  again(number: number): Observable<ListAnswer> {
    // The next page is compared with the current state of this one.
    return this.reader
      .request({ page: number, limit: this.limit, fresh: true })
      .pipe(tap(({ batch }) => this.#fingerprints.set(number, fingerprintOf(batch))));
  }

  /** Requests the current state of a page for comparison; it is not spooled. */
  probe(number: number): Observable<ListAnswer> {
    return this.sized(number, this.limit);
  }

  /** Requests the current state of a page of another size. */
  sized(number: number, limit: number): Observable<ListAnswer> {
    return this.reader.request({ page: number, limit, purpose: 'probe' });
  }

  /** Requests the row at a position, counted from 0, as a page of one row. A service that ignores the limit returns more. */
  row(position: number): Observable<ListAnswer> {
    return this.sized(this.firstPage + position, 1);
  }

  #read(page: number, fresh: boolean): Observable<ListAnswer & { readonly fingerprint: string }> {
    return defer(() => {
      const seed = this.seeds.get(page);
      this.seeds.delete(page);
      this.#asked.add(page);
      return seed && !fresh ? of(seed) : this.reader.request({ page, limit: this.limit, fresh });
    }).pipe(
      map((answer) => ({ ...answer, fingerprint: fingerprintOf(answer.batch) })),
      tap({ next: ({ fingerprint }) => this.#take(page, fingerprint), error: () => this.#take(page, '') }),
    );
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

  #take(page: number, fingerprint: string): void {
    this.#fingerprints.set(page, fingerprint);
    this.#announce(page, fingerprint);
  }

  #announce(page: number, fingerprint: string): void {
    this.#waiting.get(page)?.next(fingerprint);
    this.#waiting.get(page)?.complete();
    this.#waiting.delete(page);
  }

  /** Returns a page without rows of its own; later ones need not be requested. */
  #noRowsOn(page: number): ListAnswer {
    this.#seemingEnd = Math.min(this.#seemingEnd, page);
    for (const awaited of this.#waiting.keys())
      if (awaited > this.#seemingEnd && !this.#asked.has(awaited)) this.#announce(awaited, this.#lastLook);
    return { batch: RecordBatch.empty, body: new Uint8Array() };
  }

  #tooManyPages(number: number): SourceError {
    const message = `${this.reader.collection.name}: page ${number} has rows, but max_pages is ${this.maxPages}`;
    return new SourceError('E_SOURCE_MAX_PAGES', 'permanent', message);
  }
}
