import { catchError, map, of, switchMap, tap, throwError, type Observable } from 'rxjs';
import { rowsIn, type Content } from '../columnar/index.js';
import { SourceError } from '../errors.js';
import type { CollectionReader, ListAnswer } from '../client/index.js';
import { isPlainFailure } from './failures.js';
import { contains, fingerprintOf } from './fingerprint.js';
import { hasMorePages } from './more-pages.js';
import { Pages } from './pages.js';
import { warn, type PagedList, type PagingOptions } from './paging.js';

/**
 * Finds out how a service pages a list: a cap below the limit asked for, pages where the document says there are none, and a
 * first page before the first. It reads page 1, and page 2 if page 1 is short; neither is asked for again.
 *
 * @throws {SourceError} `E_SOURCE_FIRST_PAGE`, and by the pages `E_SOURCE_PAGE_IGNORED` and `E_SOURCE_MAX_PAGES`.
 * @throws {GateError} `E_GATE_STRICT` for a warning under `strict`.
 */
export function openList<T>(reader: CollectionReader<T>, options: PagingOptions = {}): Observable<PagedList<T>> {
  return reader.collection.paged ? openPaged(reader, reader.limit, options) : openUnpaged(reader, options);
}

function openPaged<T>(from: CollectionReader<T>, limit: number, options: PagingOptions, learned = false): Observable<PagedList<T>> {
  const firstPage = options.firstPage ?? 1;
  const reader = withoutNotFound(from, firstPage);
  const seeds = new Map<number, ListAnswer<T>>();
  const read = (page: number) => reader.request({ page, limit }).pipe(tap((answer) => seeds.set(page, answer)));
  const list = () => new Pages(reader, firstPage, limit, seeds, options.maxPages ?? Infinity);

  return read(firstPage).pipe(
    switchMap(({ content }) => {
      const opened$ =
        content.length === 0 || content.length >= limit
          ? of(list())
          : read(firstPage + 1).pipe(switchMap((second) => afterShortPage(content, second.content)));
      return options.firstPage === undefined && !learned
        ? refusePageBefore(reader, firstPage, limit, content).pipe(switchMap(() => opened$))
        : opened$;
    }),
  );

  /** A first page that is short though others follow means a cap, and a cap may move the borders of all pages. */
  function afterShortPage(first: Content<T>, second: Content<T>): Observable<PagedList<T>> {
    if (learned || second.length === 0 || fingerprintOf(first) === fingerprintOf(second)) return of(list());
    warn(options, {
      code: 'W_SOURCE_CAP',
      message: `${reader.collection.name}: asked for ${limit} rows a page, the service gives ${first.length}`,
    });
    return openPaged(reader, first.length, options, true);
  }
}

/** An unpaged list is one answer, unless a second page has other rows. */
function openUnpaged<T>(reader: CollectionReader<T>, options: PagingOptions): Observable<PagedList<T>> {
  return reader.request({}).pipe(
    switchMap((all) => {
      const unpaged: PagedList<T> = {
        paged: false,
        firstPage: 1,
        limit: all.content.length,
        page: () => of(all),
        again: () => reader.request({ fresh: true }),
        probe: () => reader.request({ purpose: 'probe' }),
        sized: () => throwError(() => new Error('a list without pages has no page sizes')),
        row: () => throwError(() => new Error('a list without pages has no positions')),
        repeated: undefined,
      };
      if (all.content.length === 0) return of(unpaged);
      return hasMorePages(reader, all.content).pipe(
        switchMap((paged) => {
          if (!paged) return of(unpaged);
          warn(options, { code: 'W_SOURCE_PAGED', message: `${reader.collection.name}: the service gives this list in pages` });
          return openPaged(reader, reader.limit, options);
        }),
      );
    }),
  );
}

/**
 * Rows that the page before the first one has and the first one has not would be lost without a word. A row that came to the
 * head of the list just now is on both, once the first page is looked at again.
 */
function refusePageBefore<T>(reader: CollectionReader<T>, firstPage: number, limit: number, first: Content<T>): Observable<unknown> {
  const before = firstPage - 1;
  const rowsOf = (page: number) => reader.request({ page, limit, purpose: 'probe' }).pipe(map(({ content }) => rowsIn(content)));
  return rowsOf(before).pipe(
    // Whatever failure a page has that is not there, it is no page.
    catchError((error: unknown) => (isPlainFailure(error) ? of([]) : throwError(() => error))),
    switchMap(([row]) => (row === undefined || contains(first, row) ? of(true) : rowsOf(firstPage).pipe(map((now) => contains(now, row))))),
    tap((same) => {
      if (same) return;
      const message = `${reader.collection.name}: page ${before} has rows that page ${firstPage} has not`;
      throw new SourceError('E_SOURCE_FIRST_PAGE', 'permanent', message);
    }),
  );
}

/** A reader for which there is no row on a page that is not found behind the first one. */
function withoutNotFound<T>(reader: CollectionReader<T>, firstPage: number): CollectionReader<T> {
  const isNotFound = (error: unknown) => error instanceof SourceError && error.status === 404;
  return {
    ...reader,
    request: (asked) =>
      reader.request(asked).pipe(
        catchError((error: unknown) => {
          const isBehind = asked.page !== undefined && asked.page > firstPage && isNotFound(error);
          return isBehind ? of({ content: [], body: new Uint8Array() }) : throwError(() => error);
        }),
      ),
  };
}
