import { catchError, defer, map, of, switchMap, throwError, type Observable } from 'rxjs';
import { amount, itemAt, SourceError } from '../core/index.js';
import { type Ask, type ListEnd, type Page, task } from '../flow/index.js';
import { defaults } from '../options/index.js';
import type { RecordBatch } from '../vector/index.js';
import { EndOfList, otherSizes, Positions } from './end.js';
import { openPaged, type Pages } from './list.js';
import { windowOf } from './options.js';
import { isViolation, type ListReader, noNewRows, refused } from './paging.js';
import { slackOf, type List, type ListPass } from './passes.js';
import { evenly, maxProbes, type FirstRead, type ReadProgress, type ReadRows } from './seen-rows.js';

/** A list whose pages have numbers: several are requested at a time, and its rows have positions. */
export class NumberedList implements List {
  readonly numbered = true;
  readonly firstPage: number;
  readonly start: number;
  readonly concurrency: number;
  readonly #positions: Positions;
  readonly #end: EndOfList;
  /** Some repeated rows, with their positions and those of their first occurrence; at most `maxProbes` per page. */
  readonly #repeats: { readonly name: string; readonly position: number; readonly first: number }[] = [];
  /** Some page borders, evenly spaced: how many pages precede each, and the names of the rows on both sides. */
  #borders: (readonly [pages: number, before: string, after: string | undefined])[] = [];
  #every = 1;
  #last: string | undefined;
  readonly #sizes: number[] = [];
  #hasOtherBorders = false;
  /** Consecutive pages without new rows, and the number after which the list is checked for an end. */
  #stale = 0;
  #patience: number;
  readonly together = () => (this.reading.options.grouped && this.#stale === 0 ? this.reading.reader.together() : 1);
  readonly lookAgain = () => this.#end.lookAgain();
  readonly again = (page: number) => this.list.probe(page);
  readonly count = (guess: number) => this.#positions.count(guess);

  constructor(
    readonly reading: FirstRead,
    private readonly list: Pages,
  ) {
    const { options, progress } = reading;
    this.firstPage = list.firstPage;
    this.start = list.start;
    progress.rows = (list.start - list.firstPage) * list.limit;
    this.concurrency = options.concurrency ?? defaults.concurrency;
    this.#patience = Math.max(10, windowOf(options));
    this.#positions = new Positions(list, reading);
    this.#end = new EndOfList(list, progress, this.#positions, reading);
  }

  get counting() {
    return this.#end.counting;
  }

  get unsettled(): boolean {
    return this.reading.options.lookAgain ?? false;
  }

  page(number: number, count = 1): Observable<RecordBatch> {
    return defer(() => this.#refuseEndless(number)).pipe(
      switchMap(() => {
        // A page already read must be requested again if the list continues in it.
        const fresh = number <= (this.reading.progress.last?.number ?? -Infinity);
        return this.list.page(number, fresh, fresh ? 1 : count);
      }),
    );
  }

  confirm(end: ListEnd): Observable<number | undefined> {
    const { start, firstPage, list, reading } = this;
    if (end.page >= list.stop) return of(undefined);
    if (end.page > start || start === firstPage) return this.#end.confirm(end);
    const before = amount((start - firstPage) * list.limit);
    throw refused(reading.reader, 'E_SOURCE_RANGE', `the range begins after ${before} rows, and the list has none there`);
  }

  take({ number }: Page, { names, position, repeats, isStale }: ReadRows): void {
    if (isStale !== undefined) this.#stale = isStale ? this.#stale + 1 : 0;
    if (isStale) this.reading.drift(`page ${number} has no new rows`);
    if (isStale !== undefined) this.#addBorder(number - this.firstPage, names[0]);
    this.#last = names.at(-1);
    for (const { row, first } of repeats.slice(0, maxProbes))
      this.#repeats.push({ first, position: position + row, name: itemAt(names, row) });
  }

  #addBorder(pages: number, after: string | undefined): void {
    if (this.#last === undefined || (pages - 1) % this.#every > 0) return;
    if (this.#borders.push([pages, this.#last, after]) <= 2 * maxProbes) return;
    this.#every *= 2;
    this.#borders = this.#borders.filter((_, index) => index % 2 === 0);
  }

  async check(ask: Ask): Promise<boolean> {
    const { reading } = this;
    const { consistency, progress, repeated } = reading;
    if (consistency.mode !== 'prove') await this.#checkPages(ask);
    if (consistency.mode !== 'prove' && !reading.drifted) await this.#checkBorders(ask);
    const settled = repeated === 0 || (this.counting === 'rows' && (await this.#checkRepeats(ask)) === repeated);
    // Only a count of the rows detects rows missing from a page.
    if (progress.short !== undefined && this.counting !== 'rows') reading.drift(`page ${progress.short} is shorter than others`);
    return settled;
  }

  pass(number: number, progress: ReadProgress): Observable<ListPass> {
    const { reading, firstPage } = this;
    const { limit } = this.list;
    const reader: ListReader = { ...reading.reader, request: (request) => reading.reader.request({ ...request, purpose: 'probe' }) };
    const opened = (size: number) => openPaged(reader, size, { firstPage });
    const sizes = otherSizes(limit);
    return opened(sizes[(number - 1) % Math.max(1, sizes.length)] ?? limit).pipe(
      catchError((error: unknown) => {
        // A service may accept only some page sizes. Two passes of one size would miss the same rows.
        const isRefused = isViolation(error) || (error instanceof SourceError && error.code === 'E_SOURCE_ORDER');
        return isRefused ? opened(this.#sizes.findLast((size) => size !== this.#sizes.at(-1)) ?? limit) : throwError(() => error);
      }),
      map((list) => {
        this.#sizes.push(list.limit);
        const end = new EndOfList(list, progress, this.#positions, reading);
        return {
          maxRows: 3 * reading.progress.rows + 10 * limit,
          page: (page) => list.page(page),
          confirm: (claim) => end.confirm(claim),
          reachesEnd: async (ask) => {
            // Passes with the same borders miss the same rows, and a service may answer every request with the same row.
            this.#hasOtherBorders ||= list.limit < limit && progress.largest <= list.limit;
            reading.blind =
              reading.progress.rows === 1 ? this.list.repeated !== undefined : this.counting !== 'rows' && !this.#hasOtherBorders;
            if (end.counted !== false || !progress.last) return true;
            const now = await ask(this.count(progress.rows));
            // Some services count rows that they leave out of a page.
            const passed = (progress.last.number - firstPage + 1) * list.limit;
            return now === undefined || now <= passed + slackOf(progress.rows);
          },
        };
      }),
    );
  }

  async #checkPages(ask: Ask): Promise<void> {
    const numbers = evenly([...this.reading.digests.keys()], maxProbes);
    const now = await Promise.all(numbers.map((number) => ask(this.again(number))));
    numbers.forEach((number, index) => this.reading.compare(number, itemAt(now, index)));
  }

  /** Checks some borders by pages of another size, if supported: the rows on both sides must be adjacent there, too. */
  async #checkBorders(ask: Ask): Promise<void> {
    const { progress, consistency } = this.reading;
    const borders = evenly(this.#borders, maxProbes);
    const check = async ([pages, before, after]: (typeof borders)[number]) => {
      const position = pages * this.list.limit;
      const size = otherSizes(this.list.limit).find((each) => each > 1 && position % each > 0);
      if (size === undefined) return;
      const names = await this.#positions.page(ask, this.firstPage + Math.floor(position / size), size);
      // A service with its own page size may have a last page of this size.
      const isPage = names.length === size && names.at(-1) !== progress.last?.name;
      const areAdjacent = names.some((name, row) => name === before && names[row + 1] === after);
      if (isPage && !areAdjacent) this.reading.drift(`pages of ${size} rows have other rows after page ${this.firstPage + pages - 1}`);
    };
    await Promise.all(borders.map(check));
    consistency.probes += borders.length;
  }

  /** Checks whether some repeated rows are where they were read. @returns How many were checked. */
  async #checkRepeats(ask: Ask): Promise<number> {
    const checked = evenly(this.#repeats, maxProbes);
    for (const { first, position, name } of checked) {
      for (const place of [first, position]) {
        this.reading.consistency.probes += 1;
        const [now] = await this.#positions.at(ask, place);
        if (now !== name) this.reading.drift(`row ${place + 1} had a repeated key, and is a different row now`);
      }
    }
    return checked.length;
  }

  /** Refuses a list with too many pages without new rows, and rows however far ahead. */
  #refuseEndless(number: number): Observable<void> {
    if (this.#stale <= this.#patience) return of(undefined);
    return task(async (ask) => {
      const at = (times: number) => this.firstPage + times * (number - this.firstPage);
      const hasRows = async (page: number) => (await ask(this.list.probe(page))).length > 0;
      if ((await hasRows(at(2))) && (await hasRows(at(4)))) {
        const what = `${noNewRows(this.#stale, number)}, and pages ${at(2)} and ${at(4)} have rows, too`;
        throw refused(this.reading.reader, 'E_SOURCE_ENDLESS', what);
      }
      this.#patience *= 2;
    });
  }
}
