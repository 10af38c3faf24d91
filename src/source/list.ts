import { createHash } from 'node:crypto';
import { AsyncSubject, catchError, defer, map, of, switchMap, tap, throwError, type Observable } from 'rxjs';
import { rowAt, rowsIn, type Content } from '../columnar/index.js';
import { GateError, SourceError, type Warning } from '../errors.js';
import type { CollectionReader, ListAnswer } from '../client/index.js';
import { task } from '../flow/index.js';

/** What the reading of a list depends on. */
export interface PagingOptions {
  /** Number of the first page. Default 1, and then it is checked that there is no page before it. */
  readonly firstPage?: number | undefined;
  /** Most pages that a list may have; one more is a failure. Default: no limit. */
  readonly maxPages?: number | undefined;
  /** Whether what would be a warning is a failure. Default false. */
  readonly strict?: boolean | undefined;
  readonly onWarning?: ((warning: Warning) => void) | undefined;
}

/** How a service pages one of its lists, as far as its first pages tell. */
export interface PagedList<T> {
  readonly paged: boolean;
  readonly firstPage: number;
  /** Rows per page that the service really gives. */
  readonly limit: number;
  /**
   * One page. A page that repeats the one before it, as some services do past the end, counts as empty.
   *
   * @param fresh Whether an answer that was kept will not do. Default false.
   */
  page(number: number, fresh?: boolean): Observable<ListAnswer<T>>;
  /** A page as it is by now, also if it has landed, and without a look at the page before it. */
  again(number: number): Observable<ListAnswer<T>>;
  /** A page as it is by now, to compare it with; it does not land. */
  probe(number: number): Observable<ListAnswer<T>>;
  /** A page of another size, as it is by now. */
  sized(number: number, limit: number): Observable<ListAnswer<T>>;
  /** The row at a position, counted from 0: a page of one row. A service that does not honour the limit gives more. */
  row(position: number): Observable<ListAnswer<T>>;
  /** The first page that repeated the one before it, as far as pages were read. */
  readonly repeated: number | undefined;
}

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
  const list = () => listOf(reader, firstPage, limit, seeds, options);

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
    if (learned || second.length === 0 || lookOf(first) === lookOf(second)) return of(list());
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
 * Whether a list that came without a page number has more than what came: pages 1 and 2, as long as the service likes them, have other
 * rows then. A second page without rows is asked for once more, with a limit that divides what came, since that may pass.
 */
function hasMorePages<T>(reader: CollectionReader<T>, all: Content<T>): Observable<boolean> {
  const known = new Set(rowsIn(all).map((row) => lookOf([row])));
  const isOther = (content: Content<T>) => {
    const rows = rowsIn(content);
    // A part of it is a page of it.
    if (rows.length > 0 && rows.length * 2 <= known.size) return true;
    // Of an unpaged list that has grown meanwhile, some rows can be new, but not most.
    return rows.filter((row) => !known.has(lookOf([row]))).length * 2 > rows.length;
  };
  const page = (number: number, limit: number | null = null) =>
    reader.request({ page: number, limit, purpose: 'probe' }).pipe(
      map(({ content }) => content),
      // A service that does not know pages may refuse them; one that does not answer is not told apart from one that has pages.
      catchError((error: unknown) => (isRefusal(error) ? of<Content<T>>([]) : throwError(() => error))),
    );
  return task(async (ask) => {
    const second = await ask(page(2));
    const size = divisorOf(all.length);
    if (isOther(second.length > 0 ? second : await ask(page(all.length / size + 1, size)))) return true;
    return isOther(await ask(page(1)));
  });
}

/** The largest page size that ends a page where so many rows end. */
function divisorOf(rows: number): number {
  let size = Math.min(rows, 500);
  while (rows % size !== 0) size -= 1;
  return size;
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

function listOf<T>(
  reader: CollectionReader<T>,
  firstPage: number,
  limit: number,
  seeds: Map<number, ListAnswer<T>>,
  options: PagingOptions,
): PagedList<T> {
  const { maxPages = Infinity } = options;
  /** How each page looked, for the page after it, and who waits for a look. */
  const looks = new Map<number, string>();
  const waiting = new Map<number, AsyncSubject<string>>();
  const asked = new Set<number>();
  /** What is behind a page that seems to be the end may never be asked for, so that nobody may wait for how it looks. */
  let seemingEnd = Infinity;
  let repeated: number | undefined;

  /** How a page looked, once that is known; nothing where it failed or may never be asked for. */
  function lookOfPage(page: number): Observable<string> {
    const look = looks.get(page) ?? (page > seemingEnd && !asked.has(page) ? '' : undefined);
    if (look !== undefined) return of(look);
    const subject = waiting.get(page) ?? new AsyncSubject<string>();
    waiting.set(page, subject);
    return subject;
  }

  function tellLook(page: number, look: string): void {
    waiting.get(page)?.next(look);
    waiting.get(page)?.complete();
    waiting.delete(page);
  }

  function takeLook(page: number, look: string): void {
    looks.set(page, look);
    tellLook(page, look);
  }

  function read(page: number, fresh: boolean): Observable<ListAnswer<T> & { readonly look: string }> {
    return defer(() => {
      const seed = seeds.get(page);
      seeds.delete(page);
      asked.add(page);
      return seed && !fresh ? of(seed) : reader.request({ page, limit, fresh });
    }).pipe(
      map((answer) => ({ ...answer, look: lookOf(answer.content) })),
      tap({ next: ({ look }) => takeLook(page, look), error: () => takeLook(page, '') }),
    );
  }

  function page(number: number, fresh = false): Observable<ListAnswer<T>> {
    return read(number, fresh).pipe(
      switchMap((answer) => {
        if (answer.content.length === 0) return of(noRowsOn(number));
        if (number - firstPage >= maxPages) return throwError(() => tooManyPages(number));
        if (number === seemingEnd) seemingEnd = Infinity;
        if (number === firstPage) return of(answer);
        return lookOfPage(number - 1).pipe(
          map((before) => {
            if (before !== answer.look) return answer;
            repeated = Math.min(repeated ?? number, number);
            return noRowsOn(number);
          }),
        );
      }),
    );
  }

  /** What a page is that has no rows of its own, behind which none need be asked for. */
  function noRowsOn(page: number): ListAnswer<T> {
    seemingEnd = Math.min(seemingEnd, page);
    for (const awaited of waiting.keys()) if (awaited > seemingEnd && !asked.has(awaited)) tellLook(awaited, '');
    return { content: [], body: new Uint8Array() };
  }

  function tooManyPages(number: number): SourceError {
    return new SourceError(
      'E_SOURCE_MAX_PAGES',
      'permanent',
      `${reader.collection.name}: page ${number} has rows, but max_pages is ${maxPages}`,
    );
  }

  /** The same page with what the service has by now, so that nothing is compared with how it looked before. */
  function again(number: number): Observable<ListAnswer<T>> {
    return reader.request({ page: number, limit, fresh: true });
  }

  return {
    paged: true,
    firstPage,
    limit,
    page,
    again,
    probe: (number) => reader.request({ page: number, limit, purpose: 'probe' }),
    sized: (number, size) => reader.request({ page: number, limit: size, purpose: 'probe' }),
    row: (position) => reader.request({ page: firstPage + position, limit: 1, purpose: 'probe' }),
    get repeated() {
      return repeated;
    },
  };
}

export function warn({ strict = false, onWarning }: PagingOptions, warning: Warning): void {
  if (strict) throw new GateError('E_GATE_STRICT', `${warning.code}: ${warning.message}`);
  onWarning?.(warning);
}

/** A failure to answer, as opposed to one that has been recognised, and to refused credentials. */
export function isPlainFailure(error: unknown): boolean {
  return isRefusal(error) || (error instanceof SourceError && error.code === 'E_SOURCE_UNAVAILABLE');
}

function isRefusal(error: unknown): boolean {
  return error instanceof SourceError && (error.code === 'E_SOURCE_REFUSED' || error.code === 'E_SOURCE_ANSWER');
}

function contains<T>(content: Content<T>, row: T): boolean {
  const look = lookOf([row]);
  return rowsIn(content).some((other) => lookOf([other]) === look);
}

/** What tells pages apart, in a few bytes: how many rows, the first and the last. Rows are text and null throughout here. */
export function lookOf<T>(content: Content<T>): string {
  const look = JSON.stringify([content.length, rowAt(content, 0), rowAt(content, content.length - 1)]);
  return createHash('sha256').update(look).digest('base64');
}
